/**
 * Delivery of messages as a state machine: random sends, edits, withdrawals, retries, runs that continue after a turn, ends of runs, holds of the
 * queue and restarts of one of two Hubs on one database. At the end each message was delivered once and in order, or it shows why not.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import type { UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Mirror } from "@corral/testing/hub/Mirror"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { effort } from "@corral/testing/time/Effort"
import { until } from "@corral/testing/time/Until"
import * as fc from "fast-check"
import { type StartedTurn, TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send"), now: fc.boolean(), at: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("edit"), pick: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("withdraw"), pick: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retry"), pick: fc.nat(20) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("play"),
      end: fc.constantFrom("complete", "complete", "fail", "fail silently")
    })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("begin") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("idle") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("continue") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("restart") }) }
)
type Step =
  | { readonly do: "send"; readonly now: boolean; readonly at: number }
  | { readonly do: "edit" | "withdraw" | "retry"; readonly pick: number }
  | { readonly do: "play"; readonly end: "complete" | "fail" | "fail silently" }
  | { readonly do: "begin" | "continue" | "idle" | "refuse" | "restart" }

describe("Deliveries", { timeout: 600_000 * effort }, () => {
  const first = new HubInProcess()
  const second = new HubInProcess()
  beforeAll(async () => {
    await first.start()
    second.databaseUrl = first.databaseUrl
    await second.start()
  })
  afterAll(async () => {
    await second.remove()
    await first.remove()
  })

  /** One conversation, at either Hub; the Edge is linked to the first one. */
  const makeScene = async () => {
    const world = await worldOf(first)
    const edge = await TalkingEdge.link(first.url, world)
    const talk = await Talk.open(world)
    const begunTurns = new Set<StartedTurn>()
    /** Turns that ended before their runtime had started. */
    const silentTurns = new Set<StartedTurn>()
    /** How often a message was sent again. It is then delivered after later ones, by one more run each time. */
    const retries = new Map<string, number>()
    let played = 0
    let sent = 0

    /** Runs whose work continues in the background. */
    const idleRuns = new Set<StartedTurn>()

    await new Mirror(first, world.deviceId).link(world.projectId)
    const helper = await first.signedIn("helper")
    await new Mirror(first).member(talk.client.userId, world.projectId, helper.userId as UserId, "member")
    /** Ends holds, in the name of a user who does nothing else. */
    const proceed = async () => {
      assert.strictEqual(
        (await talk.proceed(new HubClient(first.url, helper.token, helper.userId))).status,
        200
      )
    }
    /** Messages that were held. Later ones were delivered before them. */
    const held = async (): Promise<ReadonlySet<string>> => {
      const rows = await first.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) =>
            sql`SELECT id FROM messages WHERE session_id = ${talk.sessionId} AND ${helper.userId} = ANY(contributors)`
        )
      )
      return new Set(rows.map(({ id }) => String(id)))
    }

    const begin = async (turn: StartedTurn) => {
      if (begunTurns.has(turn)) return
      begunTurns.add(turn)
      await edge.begin(turn)
    }
    const play = async (end: "complete" | "fail" | "fail silently") => {
      const turn = edge.turns[played]
      if (turn === undefined) return
      played++
      if (end === "fail silently" && !begunTurns.has(turn)) {
        begunTurns.add(turn)
        silentTurns.add(turn)
        await edge.create(turn)
        return edge.fail(turn)
      }
      await begin(turn)
      if (idleRuns.has(turn)) return endIdle(turn, end === "complete")
      await edge.reply(turn, "output")
      await (end === "complete" ? edge.complete(turn, "answer") : edge.fail(turn))
    }
    const idle = async (turn: StartedTurn) => {
      await begin(turn)
      if (!idleRuns.has(turn)) await edge.work(turn, "work", "running")
      idleRuns.add(turn)
      await edge.endTurn(turn, `background ${idleRuns.size}`)
    }
    const endIdle = (turn: StartedTurn, isCompleted: boolean) => {
      const error = { code: "run_timeout", message: "It took too long." }
      const end = isCompleted
        ? ({ _tag: "FinishRequested", by: "someone" } as const)
        : ({ _tag: "FailureImposed", error } as const)
      // A message that the run has received started a turn.
      const ofTurn = {
        _tag: "OutcomeReported",
        outcome: { _tag: "Completed", text: "again" }
      } as const
      return edge.step(turn.runId, ofTurn, end).pushed
    }
    const clientAt = (at: number) =>
      new HubClient((at === 0 ? first : second).url, talk.client.token, talk.client.userId)
    const choose = async (pick: number, state: string): Promise<Message | undefined> => {
      const some = (await talk.messages()).filter(({ delivery }) => delivery?.state === state)
      return some[pick % Math.max(1, some.length)]
    }

    const run = async (step: Step): Promise<void> => {
      switch (step.do) {
        case "send": {
          const text = `message ${sent++}.`
          await talk.send(text, step.now ? { when: "now" } : {}, clientAt(step.at))
          return
        }
        case "edit": {
          const chosen = await choose(step.pick, "pending")
          if (chosen === undefined) return
          const answer = await talk.edit(chosen, { text: `${chosen.text} edited.` }, clientAt(step.pick % 2))
          return assert.include([200, 409], answer.status, answer.text)
        }
        case "withdraw": {
          const chosen = await choose(step.pick, "pending")
          if (chosen === undefined) return
          return assert.include([200, 409], (await talk.withdraw(chosen, clientAt(step.pick % 2))).status)
        }
        case "retry": {
          const chosen = await choose(step.pick, "failed")
          if (chosen === undefined) return
          retries.set(chosen.id, (retries.get(chosen.id) ?? 0) + 1)
          return assert.include([200, 409], (await talk.retry(chosen, clientAt(step.pick % 2))).status)
        }
        case "play":
          return play(step.end)
        case "begin": {
          const turn = edge.turns.at(-1)
          return turn === undefined ? undefined : begin(turn)
        }
        case "idle": {
          const turn = edge.turns[played]
          return turn === undefined ? undefined : idle(turn)
        }
        case "continue":
          return proceed()
        case "refuse":
          edge.refusesStart = true
          return
        case "restart":
          await second.end()
          return second.start()
      }
    }
    const finish = async () => {
      await until(
        async () => {
          while (edge.turns.length > played) await play("complete")
          await proceed()
          const isPending = (await talk.messages()).some(({ delivery }) => delivery?.state === "pending")
          return isPending ? undefined : true
        },
        "the end of every message",
        // What a Hub leaves behind is found within 25 s.
        30_000
      )
    }
    return { edge, talk, begunTurns, silentTurns, retries, run, finish, held }
  }

  it("delivers each message once and in order, or shows why not", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 30 }), async (steps) => {
        const { begunTurns, edge, finish, held, retries, run, silentTurns, talk } = await makeScene()
        // The parts of the union are those of the arbitraries.
        for (const each of steps) await run(each as Step)
        await finish()
        const messages = await talk.messages()
        const users = messages.filter(({ author }) => author.kind === "user")
        /** The runs and inputs that contain the message as theirs, not in a transcript. */
        const placesOf = ({ text }: Message) => [
          ...edge.turns.flatMap((turn, i) =>
            begunTurns.has(turn) && turn.create.input.text.split("\n").at(-1) === text ? [i] : []
          ),
          ...edge.acceptedInputs.flatMap(({ input, runId }) =>
            input.text === text ? [edge.turns.findIndex((turn) => turn.runId === runId)] : []
          )
        ]
        const isSilent = (place: number): boolean => {
          const turn = edge.turns[place]
          return turn !== undefined && silentTurns.has(turn)
        }
        for (const message of users) {
          const places = placesOf(message)
          const { context, runId, state } = message.delivery ?? {}
          if (state === "delivered") {
            // A run that could not resume is replaced by one with a transcript.
            const again = retries.get(message.id) ?? 0
            const most = again > 0 ? 2 * (again + 1) : context === "transcript" ? 2 : 1
            assert.isAtMost(new Set(places).size, most, message.text)
            assert.strictEqual(edge.turns[Math.max(...places)]?.runId, runId, message.text)
          } else {
            assert.include(["withdrawn", "failed"], state, JSON.stringify(message))
            // The run with a transcript that replaces one that could not resume may be refused.
            assert.isTrue(places.every(isSilent), message.text)
          }
        }
        const wereHeld = await held()
        const inTurns = users.flatMap((message) =>
          message.delivery?.state === "delivered" &&
          message.when === "next" &&
          !retries.has(message.id) &&
          !wereHeld.has(message.id)
            ? [Math.max(...placesOf(message))]
            : []
        )
        assert.deepStrictEqual(
          inTurns,
          inTurns.toSorted((a, b) => a - b)
        )
        // One answer for each run, but for those that a run with a transcript replaced.
        const answers = messages.filter(
          ({ author, outcome }) => author.kind === "agent" && outcome !== undefined
        )
        assert.strictEqual(new Set(answers.map(({ runId }) => runId)).size, answers.length)
        await edge.edge.leave()
      }),
      { numRuns: 4 * effort }
    ))
})
