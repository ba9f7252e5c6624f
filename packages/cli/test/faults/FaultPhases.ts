/** Phases of a run in which a fault happens: how a phase is reached, and what is done after the fault. */
import { assert } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import type { FaultConversation, FaultProduct, FaultSurface } from "./FaultProduct.ts"

/** One cell in progress. `name` is unique. */
export interface FaultScene {
  readonly product: FaultProduct
  readonly surface: FaultSurface
  readonly name: string
}

export interface FaultPhase {
  readonly name: string
  /** Begins the conversation and brings it into the phase. */
  readonly reach: (scene: FaultScene) => Promise<FaultConversation>
  /** Fails if the phase is already over. */
  readonly holds?: (conversation: FaultConversation) => Promise<void>
  /** Acts after the fault, until the run has completed. */
  readonly finish: (conversation: FaultConversation, scene: FaultScene) => Promise<void>
  /** Answers of the conversation, and lines that its agent leaves. */
  readonly answers: (name: string) => ReadonlyArray<string>
  readonly effects: (name: string) => ReadonlyArray<string>
  /** Number of runs that give the answers. Default: one each. */
  readonly runs?: number
}

/** Twenty seconds: on a busy machine, the slowest surface reaches the phase in ten. */
const PIECES = 1_000

export const effectOf = (product: FaultProduct, line: string): Promise<true> =>
  until(async () => (product.effects().includes(line) ? true : undefined), `the effect ${line}`, 30_000)

const answer = (name: string, place = "only") =>
  ({ kind: "answer", text: `answer ${place} of ${name}` }) as const
const only = (name: string) => [answer(name).text]
const firstAndSecond = (name: string) => [answer(name, "first").text, answer(name, "second").text]
const none = () => []
const toolLines = (name: string) => [`${name} begins`, `${name} ends`]

/** A run whose tool is running. */
const withTool = async (
  { name, product, surface }: FaultScene,
  place: string
): Promise<FaultConversation> => {
  const conversation = await surface.begin([{ kind: "tool", name }, answer(name, place)])
  await conversation.allow()
  await effectOf(product, `${name} begins`)
  return conversation
}

export const faultPhases: ReadonlyArray<FaultPhase> = [
  {
    name: "idle",
    reach: async ({ name, surface }) => {
      const conversation = await surface.begin([answer(name, "first")])
      await conversation.answers(1)
      return conversation
    },
    finish: async (conversation, { name }) => {
      await conversation.send([answer(name, "second")])
      await conversation.answers(2)
    },
    answers: firstAndSecond,
    effects: none
  },
  {
    name: "streaming",
    reach: async ({ name, surface }) => {
      const conversation = await surface.begin([{ kind: "stream", pieces: PIECES }, answer(name)])
      await conversation.running()
      await conversation.pieces?.(PIECES / 20)
      return conversation
    },
    holds: async (conversation) => {
      await conversation.running()
      if (conversation.pieces !== undefined)
        assert.isBelow(await conversation.pieces(0), PIECES, "pieces before the fault")
    },
    finish: async (conversation) => {
      await conversation.answers(1)
      if (conversation.pieces !== undefined)
        assert.strictEqual(await conversation.pieces(PIECES), PIECES, "pieces of the stream")
    },
    answers: only,
    effects: none
  },
  {
    name: "tool running",
    reach: (scene) => withTool(scene, "only"),
    finish: async (conversation, { name, product }) => {
      await conversation.running()
      product.release(name)
      await conversation.answers(1)
    },
    answers: only,
    effects: toolLines
  },
  {
    name: "approval pending",
    reach: async ({ name, surface }) => {
      const conversation = await surface.begin([{ kind: "effect", name }, answer(name)])
      await conversation.approval()
      return conversation
    },
    finish: async (conversation) => {
      await conversation.allow()
      await conversation.answers(1)
    },
    answers: only,
    effects: (name) => [name]
  },
  {
    name: "question pending",
    reach: async ({ name, surface }) => {
      const conversation = await surface.begin([
        { kind: "question", text: `Which of ${name}?`, options: ["this", "that", "neither"] }
      ])
      await conversation.question()
      return conversation
    },
    finish: async (conversation) => {
      await conversation.question()
      await conversation.choose(2)
      await conversation.answers(1)
    },
    answers: () => ['answered {"1":"2"}'],
    effects: none
  },
  {
    name: "working in the background",
    reach: async ({ name, product, surface }) => {
      const conversation = await surface.begin([
        answer(name, "first"),
        { kind: "background", name },
        answer(name, "second")
      ])
      await conversation.answers(1)
      await conversation.allow()
      await effectOf(product, `${name} begins`)
      await conversation.background()
      return conversation
    },
    finish: async (conversation, { name, product }) => {
      await conversation.background()
      product.release(name)
      await conversation.answers(2)
    },
    answers: firstAndSecond,
    effects: toolLines,
    runs: 1
  },
  {
    name: "message queued",
    reach: async (scene) => {
      const conversation = await withTool(scene, "first")
      await conversation.send([answer(scene.name, "second")])
      await conversation.queued()
      return conversation
    },
    finish: async (conversation, { name, product }) => {
      product.release(name)
      await conversation.answers(2)
    },
    answers: firstAndSecond,
    effects: toolLines
  }
]
