/**
 * Failures that another product documents about itself (Omnigent, `docs/network-resilience.md`, R1 to R8), and what shows that Corral does not
 * have them: cells of the matrix, or a check at all surfaces.
 */
import { assert } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { effectOf } from "./FaultPhases.ts"
import {
  type AgentWork,
  type FaultConversation,
  type FaultProduct,
  type SurfaceName,
  surfaceNames
} from "./FaultProduct.ts"

export interface PublishedFailure {
  readonly id: string
  /** The failure, as its project describes it. */
  readonly failure: string
  /** What Corral does instead. */
  readonly behaviour: string
  /** Cells that show it, in words. Absent where only the check does. */
  readonly cells?: string
  readonly check?: (product: FaultProduct, name: string) => Promise<void>
}

/** The longest outage of that document, and its repeated short ones: 2 s in every 15 s. */
const OUTAGE_MS = 120_000
const BLIPS = 8
const BLIP_MS = 2_000
const BETWEEN_BLIPS_MS = 13_000
/** Long enough for each surface to try. */
const MOMENT_MS = 3_000

interface Attendee {
  readonly conversation: FaultConversation
  readonly name: string
}

const answerOf = (name: string, place = "only") =>
  ({ kind: "answer", text: `answer ${place} of ${name}` }) as const

/** Does the same at all surfaces, each with a separate conversation, around one outage. */
const atAllSurfaces = async (
  product: FaultProduct,
  name: string,
  {
    during,
    finish,
    reach,
    work
  }: {
    readonly work: (name: string) => AgentWork
    readonly reach?: (attendee: Attendee) => Promise<void>
    readonly during?: (attendees: ReadonlyArray<Attendee>) => Promise<void>
    readonly finish: (attendee: Attendee) => Promise<void>
  }
): Promise<void> => {
  const begin = async (surface: SurfaceName): Promise<Attendee> => {
    const label = `${name} ${surface}`
    const attendee = { name: label, conversation: await product.surfaces[surface].begin(work(label)) }
    await reach?.(attendee)
    return attendee
  }
  const attendees: Array<Attendee> = []
  for (const surface of surfaceNames) attendees.push(await begin(surface))
  try {
    await during?.(attendees)
    await Promise.all(attendees.map(finish))
  } finally {
    await Promise.all(attendees.map(({ conversation }) => conversation.close()))
  }
}

const toolRunning =
  (product: FaultProduct) =>
  async ({ conversation, name }: Attendee) => {
    await conversation.allow()
    await effectOf(product, `${name} begins`)
  }

const answered = async ({ conversation }: Attendee, ...texts: ReadonlyArray<string>): Promise<void> => {
  assert.deepStrictEqual(await conversation.answers(texts.length), texts)
}

export const publishedFailures: ReadonlyArray<PublishedFailure> = [
  {
    id: "R1",
    failure:
      "Approval card missing for up to 30 s after the link returns; a decision on the old card has no effect",
    behaviour: "The approval stays open at every surface, and the first decision counts",
    cells: "approval pending, with each fault and surface"
  },
  {
    id: "R2",
    failure: "An outage of 120 s moves the approval to the terminal, and its card never returns",
    behaviour: "After 120 s without a link the same approval can be decided at every surface",
    check: (product, name) =>
      atAllSurfaces(product, name, {
        work: (label) => [{ kind: "effect", name: label }, answerOf(label)],
        reach: ({ conversation }) => conversation.approval(),
        during: async () => {
          await product.cutLink()
          await pause(OUTAGE_MS)
          product.restoreLink()
        },
        finish: async (attendee) => {
          await attendee.conversation.allow()
          await answered(attendee, answerOf(attendee.name).text)
          assert.lengthOf(
            product.effects().filter((line) => line === attendee.name),
            1
          )
        }
      })
  },
  {
    id: "R3",
    failure: "A message that is sent while the host is unreachable is lost",
    behaviour: "The message waits at the Hub, and is delivered once when the link returns",
    check: (product, name) =>
      atAllSurfaces(product, name, {
        work: (label) => [answerOf(label, "first")],
        reach: async ({ conversation }) => void (await conversation.answers(1)),
        during: async (attendees) => {
          await product.cutLink()
          for (const { conversation, name: label } of attendees)
            await conversation.send([answerOf(label, "second")])
          await pause(MOMENT_MS)
          product.restoreLink()
        },
        finish: (attendee) =>
          answered(attendee, answerOf(attendee.name, "first").text, answerOf(attendee.name, "second").text)
      })
  },
  {
    id: "R4",
    failure: "Stop reports success while the host is unreachable, and the run continues",
    behaviour: "The run is shown as running until its machine has ended it",
    check: (product, name) =>
      atAllSurfaces(product, name, {
        work: (label) => [{ kind: "effect", name: label }, { kind: "endless" }],
        reach: async ({ conversation, name: label }) => {
          await conversation.allow()
          await effectOf(product, label)
          await conversation.running()
        },
        during: async (attendees) => {
          await product.cutLink()
          const cancels = attendees.map(({ conversation }) => conversation.cancel())
          await pause(MOMENT_MS)
          for (const { conversation } of attendees) await conversation.running()
          product.restoreLink()
          await Promise.all(cancels)
        },
        finish: ({ conversation }) => conversation.cancelled()
      })
  },
  {
    id: "R5",
    failure: "The page never says that it is offline",
    behaviour:
      "The console says so. `packages/console/test/e2e/Outage.test.ts` reads the banner in a browser",
    check: async (product, name) => {
      const conversation = await product.surfaces.console.begin([answerOf(name)])
      try {
        await conversation.answers(1)
        assert.strictEqual(conversation.outages?.(), 0)
        await product.faults["Hub killed"]()
        assert.isAtLeast(conversation.outages?.() ?? 0, 1)
        assert.deepStrictEqual(await conversation.answers(1), [answerOf(name).text])
      } finally {
        await conversation.close()
      }
    }
  },
  {
    id: "R6",
    failure: "Repeated short outages add up to a failed run",
    behaviour: "With the link down for 2 s in every 15 s, for 2 minutes, the run continues and completes",
    check: (product, name) =>
      atAllSurfaces(product, name, {
        work: (label) => [{ kind: "tool", name: label }, answerOf(label)],
        reach: toolRunning(product),
        during: async (attendees) => {
          for (let blip = 0; blip < BLIPS; blip++) {
            await product.cutLink()
            await pause(BLIP_MS)
            product.restoreLink()
            await pause(BETWEEN_BLIPS_MS)
            for (const { conversation } of attendees) await conversation.running()
          }
        },
        finish: async (attendee) => {
          product.release(attendee.name)
          await answered(attendee, answerOf(attendee.name).text)
        }
      })
  },
  {
    id: "R7",
    failure: "A turn that failed because its model was unreachable offers no way to try again",
    behaviour: "The failed turn shows its error, and the next message continues the conversation",
    check: (product, name) =>
      atAllSurfaces(product, name, {
        work: () => [{ kind: "failure", message: "The model is unreachable." }],
        finish: async (attendee) => {
          await attendee.conversation.failed("The model is unreachable.")
          await attendee.conversation.send([answerOf(attendee.name)])
          await answered(attendee, answerOf(attendee.name).text)
        }
      })
  },
  {
    id: "R8",
    failure: "After a reconnection the status stays at running although the turn has ended",
    behaviour:
      "Each cell compares the states and events of its runs at the Hub with those at the Edge, after their end",
    cells: "all, and link cut in particular"
  }
]
