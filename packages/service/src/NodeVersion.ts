/**
 * The Node that the services need. An older one lacks functions that they call, and the native part of the Edge's store crashes in it.
 *
 * Guarantees: the layer fails before a service touches anything. Their modules can be imported by an older Node: a named import of a
 * newer function of Node would fail first, with an error of the loader.
 */
import { Data, Effect, Layer } from "effect"

const NEEDED = [22, 19] as const

/** This Node cannot run the service. */
export class NodeTooOld extends Data.TaggedError("NodeTooOld")<{ readonly message: string }> {}

/** Fails where a Node of that version is too old. `service` begins the sentence: `An Edge`. */
export const requireNode = (service: string, version: string): Effect.Effect<void, NodeTooOld> => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isNewEnough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
  return isNewEnough
    ? Effect.void
    : new NodeTooOld({
        message: `${service} needs Node ${NEEDED.join(".")} or newer, and this is Node ${version}. Install Node 24 from https://nodejs.org.`
      })
}

/** To be built before anything else of a service. */
export const nodeVersionLayer = (service: string) =>
  Layer.effectDiscard(Effect.suspend(() => requireNode(service, process.versions.node)))
