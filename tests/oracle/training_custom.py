"""Models whose steps are written by the user: recorded from tf_keras, repeated by Podium.

The examples of the guide "Customizing what happens in fit()", its GAN, and a VAE. Noise is part of
the data. Each function of `CUSTOM` takes a `Library` and returns the results of a run, as in
`training_cases.py`.
"""

from training_library import RandomValues, Table, evaluate_model, predict_model, train

CUSTOM = Table()


# --- one Dense layer, trained in four ways


def custom(library, name, model_class, **options):
    """A model of the given class on one Dense layer, with its data."""
    keras, values = library.keras, RandomValues(name)
    inputs = keras.Input((6,))
    model = model_class(inputs, keras.layers.Dense(1)(inputs))
    values.weights(model)
    x, y = values.uniform(45, 6).astype("float64"), values.uniform(45, 1).astype("float64")
    model.compile(**options)
    return model, x, y, values


@CUSTOM.add
def custom_step(library):
    """The loss and the metrics of compile, in a step of the user."""

    class CustomModel(library.keras.Model):
        def train_step(self, data):
            x, y = data
            with library.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            trainable_vars = self.trainable_variables
            gradients = tape.gradient(loss, trainable_vars)
            self.optimizer.apply_gradients(zip(gradients, trainable_vars, strict=True))
            self.compiled_metrics.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

    model, x, y, _ = custom(
        library, "custom_step", CustomModel, optimizer="adam", loss="mse", metrics=["mae"]
    )
    return {
        **train(library, model, x, y, batch_size=8, epochs=3, shuffle=False),
        **evaluate_model(model, x, y, batch_size=8),
    }


@CUSTOM.add
def custom_step_alone(library):
    """Nothing of compile but the optimizer: a loss for each sample, metrics that live outside the
    model.
    """
    keras = library.keras
    loss_tracker = keras.metrics.Mean(name="loss")
    mae_metric = keras.metrics.MeanAbsoluteError(name="mae")

    class CustomModel(keras.Model):
        def train_step(self, data):
            x, y = data
            with library.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = keras.losses.mean_squared_error(y, y_pred)
            trainable_vars = self.trainable_variables
            gradients = tape.gradient(loss, trainable_vars)
            self.optimizer.apply_gradients(zip(gradients, trainable_vars, strict=True))
            loss_tracker.update_state(loss)
            mae_metric.update_state(y, y_pred)
            return {"loss": loss_tracker.result(), "mae": mae_metric.result()}

        @property
        def metrics(self):
            return [loss_tracker, mae_metric]

    model, x, y, _ = custom(library, "custom_step_alone", CustomModel, optimizer="adam")
    return train(library, model, x, y, batch_size=8, epochs=3, shuffle=False)


@CUSTOM.add
def custom_step_weighted(library):
    """A third item with weights arrives when they were given."""

    class CustomModel(library.keras.Model):
        def train_step(self, data):
            x, y, sample_weight = data if len(data) == 3 else (*data, None)
            with library.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(
                    y, y_pred, sample_weight=sample_weight, regularization_losses=self.losses
                )
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            self.compiled_metrics.update_state(y, y_pred, sample_weight=sample_weight)
            return {m.name: m.result() for m in self.metrics}

    options = {
        "optimizer": library.keras.optimizers.SGD(0.05),
        "loss": "mse",
        "metrics": ["mae"],
        "weighted_metrics": ["mae"],
    }
    model, x, y, values = custom(library, "custom_step_weighted", CustomModel, **options)
    return train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        sample_weight=values.uniform(45, 1),
    )


@CUSTOM.add
def custom_step_newer(library):
    """`compute_loss` and `compute_metrics`, the newer names; a custom evaluation step."""

    class CustomModel(library.keras.Model):
        def train_step(self, data):
            x, y = data
            with library.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x=x, y=y, y_pred=y_pred)
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return self.compute_metrics(x, y, y_pred, None)

        def test_step(self, data):
            x, y = data
            y_pred = self(x, training=False) + 1.0
            self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            self.compiled_metrics.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

    model, x, y, _ = custom(
        library, "custom_step_newer", CustomModel, optimizer="sgd", loss="mse", metrics=["mae"]
    )
    run = train(
        library,
        model,
        x,
        y,
        batch_size=8,
        epochs=2,
        shuffle=False,
        validation_data=(x[:13], y[:13]),
    )
    return {**run, **evaluate_model(model, x, y, batch_size=8)}


# --- GAN and VAE


def networks_of_gan(library):
    keras, layers = library.keras, library.keras.layers
    discriminator = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(alpha=0.2),
            layers.Conv2D(6, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(alpha=0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
    generator = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(2 * 2 * 6),
            layers.LeakyReLU(alpha=0.2),
            layers.Reshape((2, 2, 6)),
            layers.Conv2DTranspose(6, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(alpha=0.2),
            layers.Conv2DTranspose(6, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(alpha=0.2),
            layers.Conv2D(1, (7, 7), padding="same", activation="sigmoid"),
        ],
        name="generator",
    )
    return discriminator, generator


@CUSTOM.add
def gan(library, k=1, log_batches=True):
    """Two optimizers, two tapes, raw losses returned; the noise is part of the data."""
    keras = library.keras

    class GAN(keras.Model):
        def __init__(self, discriminator, generator):
            super().__init__()
            self.discriminator = discriminator
            self.generator = generator

        def compile(self, d_optimizer, g_optimizer, loss_fn, **options):
            super().compile(**options)
            self.d_optimizer = d_optimizer
            self.g_optimizer = g_optimizer
            self.loss_fn = loss_fn

        def train_step(self, data):
            real_images, first_noise, second_noise, label_noise = data
            batch_size = library.shape(real_images)[0]
            generated_images = self.generator(first_noise)
            combined_images = library.concat([generated_images, real_images], axis=0)
            labels = library.concat(
                [library.ones((batch_size, 1)), library.zeros((batch_size, 1))], axis=0
            )
            labels += 0.05 * library.concat([label_noise[:, :1], label_noise[:, 1:]], axis=0)

            with library.GradientTape() as tape:
                predictions = self.discriminator(combined_images)
                d_loss = self.loss_fn(labels, predictions)
            grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
            self.d_optimizer.apply_gradients(
                zip(grads, self.discriminator.trainable_weights, strict=True)
            )

            misleading_labels = library.zeros((batch_size, 1))
            with library.GradientTape() as tape:
                predictions = self.discriminator(self.generator(second_noise))
                g_loss = self.loss_fn(misleading_labels, predictions)
            grads = tape.gradient(g_loss, self.generator.trainable_weights)
            self.g_optimizer.apply_gradients(
                zip(grads, self.generator.trainable_weights, strict=True)
            )
            return {"d_loss": d_loss, "g_loss": g_loss}

    values = RandomValues("gan")
    model = GAN(*networks_of_gan(library))
    values.weights(model.discriminator)
    values.weights(model.generator)
    model.compile(
        d_optimizer=keras.optimizers.Adam(learning_rate=0.003),
        g_optimizer=keras.optimizers.Adam(learning_rate=0.003),
        loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
        steps_per_execution=k,
    )
    arrays = (
        values.uniform(20, 8, 8, 1),
        values.normal(20, 5),
        values.normal(20, 5),
        values.uniform(20, 2),
    )
    run = train(
        library,
        model,
        library.Dataset.from_tensor_slices(arrays).batch(8),
        epochs=2,
        log_batches=log_batches,
    )
    return {**run, **predict_model(model.generator, arrays[1][:2])}


@CUSTOM.add
def vae(library):
    """An encoder with two outputs, trackers listed in `metrics`, a step that returns their running
    means.
    """
    keras, layers = library.keras, library.keras.layers

    class VAE(keras.Model):
        def __init__(self, encoder, decoder, **kwargs):
            super().__init__(**kwargs)
            self.encoder = encoder
            self.decoder = decoder
            self.total_loss_tracker = keras.metrics.Mean(name="total_loss")
            self.reconstruction_loss_tracker = keras.metrics.Mean(name="reconstruction_loss")
            self.kl_loss_tracker = keras.metrics.Mean(name="kl_loss")

        @property
        def metrics(self):
            return [self.total_loss_tracker, self.reconstruction_loss_tracker, self.kl_loss_tracker]

        def train_step(self, data):
            images, noise = data
            with library.GradientTape() as tape:
                z_mean, z_log_var = self.encoder(images)
                reconstruction = self.decoder(z_mean + library.exp(0.5 * z_log_var) * noise)
                errors = keras.losses.binary_crossentropy(images, reconstruction)
                reconstruction_loss = library.mean(library.sum(errors, axis=(1, 2)))
                kl_loss = -0.5 * (1 + z_log_var - library.square(z_mean) - library.exp(z_log_var))
                kl_loss = library.mean(library.sum(kl_loss, axis=1))
                total_loss = reconstruction_loss + kl_loss
            grads = tape.gradient(total_loss, self.trainable_weights)
            self.optimizer.apply_gradients(zip(grads, self.trainable_weights, strict=True))
            self.total_loss_tracker.update_state(total_loss)
            self.reconstruction_loss_tracker.update_state(reconstruction_loss)
            self.kl_loss_tracker.update_state(kl_loss)
            return {
                "loss": self.total_loss_tracker.result(),
                "reconstruction_loss": self.reconstruction_loss_tracker.result(),
                "kl_loss": self.kl_loss_tracker.result(),
            }

    values = RandomValues("vae")
    images = keras.Input((4, 4, 1))
    hidden = layers.Conv2D(3, 3, activation="relu", strides=2, padding="same")(images)
    hidden = layers.Dense(6, activation="relu")(layers.Flatten()(hidden))
    encoder = keras.Model(
        images, [layers.Dense(2, name="z_mean")(hidden), layers.Dense(2, name="z_log_var")(hidden)]
    )
    code = keras.Input((2,))
    shown = layers.Reshape((2, 2, 3))(layers.Dense(12, activation="relu")(code))
    shown = layers.Conv2DTranspose(1, 3, activation="sigmoid", strides=2, padding="same")(shown)
    model = VAE(encoder, keras.Model(code, shown))
    values.weights(encoder)
    values.weights(model.decoder)
    model.compile(optimizer=keras.optimizers.Adam(0.01))
    arrays = (values.uniform(30, 4, 4, 1), values.normal(30, 2))
    run = train(library, model, library.Dataset.from_tensor_slices(arrays).batch(8), epochs=3)
    return {**run, **predict_model(model.encoder, arrays[0][:3])}
