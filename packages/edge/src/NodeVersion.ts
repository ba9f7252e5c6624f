/**
 * The Node that an Edge needs. The store's native part is built for newer Nodes only: an older one crashes without a word.
 *
 * The launcher of the built services says the same before it starts one.
 */
import { Data, Effect, Layer } from "effect"

const NEEDED = [22, 19] as const

/** This Node cannot run an Edge. */
export class NodeTooOld extends Data.TaggedError("NodeTooOld")<{ readonly message: string }> {}

/** Fails where a Node of that version is too old. */
export const requireNode = (version: string): Effect.Effect<void, NodeTooOld> => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isNewEnough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
  return isNewEnough
    ? Effect.void
    : new NodeTooOld({
        message: `An Edge needs Node ${NEEDED.join(".")} or newer, and this is Node ${version}. Install Node 24 from https://nodejs.org.`
      })
}

/** To be built before anything that loads native code. */
export const nodeVersionLayer = Layer.effectDiscard(Effect.suspend(() => requireNode(process.versions.node)))
