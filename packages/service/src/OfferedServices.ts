/** The part of a layer's services that other programs use. The layer is the same: its type names no service that they cannot import. */
import type { Layer } from "effect"

export const offering =
  <S>() =>
  <A, E, R>(layer: Layer.Layer<A | S, E, R>): Layer.Layer<S, E, R> =>
    layer
