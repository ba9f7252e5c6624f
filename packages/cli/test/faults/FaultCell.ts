/**
 * One cell of the matrix: a fault in a phase of a run, seen from a surface.
 *
 * Guarantees when it passes: the surface saw the run complete after the fault, with each answer and each effect once; it then sent a further
 * message, read its approval, allowed it and cancelled its run; and the records of the product have no event lost or repeated.
 */
import { assert } from "@effect/vitest"
import { effectOf, type FaultPhase, faultPhases, type FaultScene } from "./FaultPhases.ts"
import {
  type FaultConversation,
  type FaultName,
  faultNames,
  type FaultProduct,
  type SurfaceName,
  surfaceNames
} from "./FaultProduct.ts"

export interface FaultCell {
  readonly fault: FaultName
  readonly phase: FaultPhase
  readonly surface: SurfaceName
}

export const faultCells: ReadonlyArray<FaultCell> = faultNames.flatMap((fault) =>
  faultPhases.flatMap((phase) => surfaceNames.map((surface) => ({ fault, phase, surface })))
)

export const titleOf = ({ fault, phase, surface }: FaultCell): string => `${fault}, ${phase.name}, ${surface}`

/** Sends, decides and cancels at the same surface. */
export const actAgain = async (
  conversation: FaultConversation,
  { name, product }: FaultScene
): Promise<void> => {
  await conversation.send([{ kind: "effect", name: `${name} again` }, { kind: "endless" }])
  await conversation.allow()
  await effectOf(product, `${name} again`)
  await conversation.running()
  await conversation.cancel()
  await conversation.cancelled()
}

/** Compares the conversation with one that was not disturbed. */
export const assertUndisturbed = async (
  conversation: FaultConversation,
  { name, product }: FaultScene,
  expected: {
    readonly answers: ReadonlyArray<string>
    readonly effects: ReadonlyArray<string>
    readonly runs: ReadonlyArray<string>
  }
): Promise<void> => {
  assert.deepStrictEqual(await conversation.answers(expected.answers.length), expected.answers)
  assert.deepStrictEqual(
    product.effects().filter((line) => line === name || line.startsWith(`${name} `)),
    expected.effects
  )
  const { defects, runs } = await product.record(name)
  assert.deepStrictEqual(defects, [])
  assert.deepStrictEqual(runs, expected.runs)
}

/** What is done after the fault. Returns the milliseconds until the surface had shown the end of the run. */
const finishCell = async (
  conversation: FaultConversation,
  scene: FaultScene,
  phase: FaultPhase
): Promise<number> => {
  try {
    const backAt = performance.now()
    await phase.finish(conversation, scene)
    const millis = performance.now() - backAt
    await actAgain(conversation, scene)
    const answers = phase.answers(scene.name)
    await assertUndisturbed(conversation, scene, {
      answers,
      effects: [...phase.effects(scene.name), `${scene.name} again`],
      runs: [...Array.from({ length: phase.runs ?? answers.length }, () => "completed"), "cancelled"]
    })
    return millis
  } finally {
    await conversation.close()
  }
}

/** The cells of one fault in one phase: all surfaces have a conversation in the phase when the fault happens. Results in the order of `surfaceNames`. */
export const runCells = async (
  product: FaultProduct,
  fault: FaultName,
  phase: FaultPhase,
  name: string
): Promise<ReadonlyArray<PromiseSettledResult<number>>> => {
  const scenes = surfaceNames.map((surface) => ({
    product,
    surface: product.surfaces[surface],
    name: `${name} ${surface}`
  }))
  const reached = await Promise.allSettled(scenes.map((scene) => phase.reach(scene)))
  const held = await Promise.allSettled(
    reached.map(async (each) => {
      if (each.status === "rejected") throw each.reason
      await phase.holds?.(each.value)
      return each.value
    })
  )
  await product.faults[fault]()
  return Promise.allSettled(
    scenes.map(async (scene, at) => {
      const conversation = held[at]
      if (conversation?.status !== "fulfilled") {
        const left = reached[at]
        if (left?.status === "fulfilled") await left.value.close()
        throw conversation?.reason
      }
      return finishCell(conversation.value, scene, phase)
    })
  )
}
