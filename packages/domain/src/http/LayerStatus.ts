/**
 * Status of each layer of the contract, the same in its documents, in the documentation and in the public health. Clients of a layer in development
 * ignore fields and values that they do not have.
 */
import { Schema } from "effect"

/** `in development`: paths and fields can change. `contract shaped`: the shape of the events is settled, their vocabulary can grow. */
export const LayerStatus = Schema.Literals(["in development", "contract shaped"])
export type LayerStatus = typeof LayerStatus.Type

/** By layer. */
export const layerStatus = {
  hubApi: "in development",
  edgeApi: "in development",
  eventStreams: "in development",
  runtimeEvents: "contract shaped",
  chatEvents: "in development"
} as const satisfies Readonly<Record<string, LayerStatus>>
export type Layer = keyof typeof layerStatus

/** Names of the layers, for people. */
export const layerNames: { readonly [L in Layer]: string } = {
  hubApi: "Hub API",
  edgeApi: "Edge API",
  eventStreams: "WebSocket events",
  runtimeEvents: "Runtime adapter events",
  chatEvents: "Chat-platform integration events"
}
