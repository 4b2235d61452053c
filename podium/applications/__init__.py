"""Architectures for images, with Keras's names, arguments, layers and files of weights.

Each is a function that returns a `podium.Model`. `weights="imagenet"`, the default, reads Keras's
files from `~/.keras/models` and downloads what is missing; a path reads another file; None keeps
random weights.
"""

from podium.applications import convnext as convnext
from podium.applications import densenet as densenet
from podium.applications import efficientnet as efficientnet
from podium.applications import efficientnet_v2 as efficientnet_v2
from podium.applications import imagenet_utils as imagenet_utils
from podium.applications import inception_resnet_v2 as inception_resnet_v2
from podium.applications import inception_v3 as inception_v3
from podium.applications import mobilenet as mobilenet
from podium.applications import mobilenet_v2 as mobilenet_v2
from podium.applications import mobilenet_v3 as mobilenet_v3
from podium.applications import nasnet as nasnet
from podium.applications import resnet as resnet
from podium.applications import resnet50 as resnet50
from podium.applications import resnet_v2 as resnet_v2
from podium.applications import vgg16 as vgg16
from podium.applications import vgg19 as vgg19
from podium.applications import xception as xception
from podium.applications._convnext import ConvNeXtBase as ConvNeXtBase
from podium.applications._convnext import ConvNeXtLarge as ConvNeXtLarge
from podium.applications._convnext import ConvNeXtSmall as ConvNeXtSmall
from podium.applications._convnext import ConvNeXtTiny as ConvNeXtTiny
from podium.applications._convnext import ConvNeXtXLarge as ConvNeXtXLarge
from podium.applications._densenet import DenseNet121 as DenseNet121
from podium.applications._densenet import DenseNet169 as DenseNet169
from podium.applications._densenet import DenseNet201 as DenseNet201
from podium.applications._efficientnet import EfficientNetB0 as EfficientNetB0
from podium.applications._efficientnet import EfficientNetB1 as EfficientNetB1
from podium.applications._efficientnet import EfficientNetB2 as EfficientNetB2
from podium.applications._efficientnet import EfficientNetB3 as EfficientNetB3
from podium.applications._efficientnet import EfficientNetB4 as EfficientNetB4
from podium.applications._efficientnet import EfficientNetB5 as EfficientNetB5
from podium.applications._efficientnet import EfficientNetB6 as EfficientNetB6
from podium.applications._efficientnet import EfficientNetB7 as EfficientNetB7
from podium.applications._efficientnet_v2 import EfficientNetV2B0 as EfficientNetV2B0
from podium.applications._efficientnet_v2 import EfficientNetV2B1 as EfficientNetV2B1
from podium.applications._efficientnet_v2 import EfficientNetV2B2 as EfficientNetV2B2
from podium.applications._efficientnet_v2 import EfficientNetV2B3 as EfficientNetV2B3
from podium.applications._efficientnet_v2 import EfficientNetV2L as EfficientNetV2L
from podium.applications._efficientnet_v2 import EfficientNetV2M as EfficientNetV2M
from podium.applications._efficientnet_v2 import EfficientNetV2S as EfficientNetV2S
from podium.applications._inception_resnet_v2 import InceptionResNetV2 as InceptionResNetV2
from podium.applications._inception_v3 import InceptionV3 as InceptionV3
from podium.applications._mobilenet import MobileNet as MobileNet
from podium.applications._mobilenet_v2 import MobileNetV2 as MobileNetV2
from podium.applications._mobilenet_v3 import MobileNetV3Large as MobileNetV3Large
from podium.applications._mobilenet_v3 import MobileNetV3Small as MobileNetV3Small
from podium.applications._nasnet import NASNetLarge as NASNetLarge
from podium.applications._nasnet import NASNetMobile as NASNetMobile
from podium.applications._resnet import ResNet50 as ResNet50
from podium.applications._resnet import ResNet101 as ResNet101
from podium.applications._resnet import ResNet152 as ResNet152
from podium.applications._resnet_v2 import ResNet50V2 as ResNet50V2
from podium.applications._resnet_v2 import ResNet101V2 as ResNet101V2
from podium.applications._resnet_v2 import ResNet152V2 as ResNet152V2
from podium.applications._vgg import VGG16 as VGG16
from podium.applications._vgg import VGG19 as VGG19
from podium.applications._xception import Xception as Xception
