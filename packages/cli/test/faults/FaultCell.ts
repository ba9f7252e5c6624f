/**
 * One cell of the matrix: a fault in a phase of a run, seen from a surface.
 *
 * Guarantees when it passes: the surface saw the run complete after the fault, with each answer and each effect once; it then sent a further
 * message, read its approval, allowed it and cancelled its run; and the records of the product have no event lost or repeated.
 */
import { assert } from "@effect/vitest"
import { effectOf, type FaultPhase, type FaultScene } from "./FaultPhases.ts"
import type { FaultConversation, FaultName, FaultProduct, SurfaceName } from "./FaultProduct.ts"

export interface FaultCell {
  readonly fault: FaultName
  readonly phase: FaultPhase
  readonly surface: SurfaceName
}

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
  const { defects, runs } = await product.record()
  assert.deepStrictEqual(defects, [])
  assert.deepStrictEqual(runs, expected.runs)
}

/** Milliseconds from the end of the fault until the surface had shown the end of the run. */
export const runCell = async (
  product: FaultProduct,
  { fault, phase, surface: surfaceName }: FaultCell,
  name: string
): Promise<number> => {
  const scene = { product, surface: product.surfaces[surfaceName], name }
  const conversation = await phase.reach(scene)
  try {
    await product.faults[fault]()
    const backAt = performance.now()
    await phase.finish(conversation, scene)
    const millis = performance.now() - backAt
    await actAgain(conversation, scene)
    const answers = phase.answers(name)
    await assertUndisturbed(conversation, scene, {
      answers,
      effects: [...phase.effects(name), `${name} again`],
      runs: [...answers.map(() => "completed"), "cancelled"]
    })
    return millis
  } finally {
    await conversation.close()
  }
}
