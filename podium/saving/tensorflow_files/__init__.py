"""TensorFlow's files, read and written without TensorFlow: checkpoints and Keras's SavedModels."""
