/**
 * Answers of two people at two Hubs on one database, raced with each other, with the expiry and the withdrawal of the question and with the end of
 * its run. The Edge is the run machine behind a real link.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { InputRequestId, RunId, UserId } from "@corral/domain/identity/Ids"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { type Answer, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, Mirror } from "@corral/testing/hub/Mirror"
import { effort } from "@corral/testing/time/Effort"
import { until } from "@corral/testing/time/Until"
import * as fc from "fast-check"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { type World, worldOf } from "../link/World.ts"

const question = {
  kind: "question",
  title: "A name",
  questions: [{ id: "name", text: "Which name?", kind: "text" }]
} as const
const plan = { kind: "plan", title: "A plan", plan: "First this, then that." } as const

/** What happens at the Edge meanwhile. */
const events = {
  expiry: (inputId: InputRequestId): RunMachineInput => ({ _tag: "InputExpired", inputId }),
  withdrawal: (inputId: InputRequestId): RunMachineInput => ({
    _tag: "InputWithdrawn",
    inputId,
    state: "withdrawn"
  }),
  "end of the run": (): RunMachineInput => ({ _tag: "CancelRequested", by: "someone" })
} as const
type EdgeEvent = keyof typeof events

/** Two answers, each with a declining or not, and what else happens, in an order. */
const Race = fc.record({
  declines: fc.tuple(fc.boolean(), fc.boolean()),
  repeats: fc.boolean(),
  meanwhile: fc.option(fc.constantFrom<EdgeEvent>("expiry", "withdrawal", "end of the run")),
  order: fc.shuffledSubarray([0, 1, 2], { minLength: 3 })
})

describe("Answers", { timeout: 600_000 * effort }, () => {
  const first = new HubInProcess()
  const second = new HubInProcess()
  let world: World
  let edge: TalkingEdge
  let people: readonly [HubClient, HubClient]
  beforeAll(async () => {
    await first.start()
    second.databaseUrl = first.databaseUrl
    await second.start()
    world = await worldOf(first)
    const other = await first.signedIn("the other person")
    const mirror = new Mirror(first, world.deviceId)
    await mirror.member(world.client.userId, world.projectId, other.userId as UserId, "member")
    await mirror.link(world.projectId)
    people = [world.client, new HubClient(second.url, other.token, other.userId)]
  })
  afterAll(async () => {
    await second.remove()
    await first.remove()
  })

  const answer = (person: HubClient, id: string, body: unknown) =>
    person.ask<HubInput>("POST", `/client/inputs/${id}/answer`, { body })
  const read = async (id: string, of: HubClient = world.client) =>
    (await of.ask<HubInput>("GET", `/client/inputs/${id}`)).body
  /** The question at a Hub once it is resolved: pushes follow the answer of the Edge. */
  const resolved = (id: string, of: HubClient) =>
    until(
      async () => {
        const input = await read(id, of)
        return input.state === "pending" ? undefined : input
      },
      `the end of ${id}`,
      20_000
    )

  const checkLoser = ({ body, status, text }: Answer<HubInput>, input: HubInput): void => {
    assert.strictEqual(status, input.state === "expired" ? 410 : 409, text)
    const { details } = body as unknown as { readonly details: object }
    const { answeredBy, id: inputId, state } = input
    assert.deepStrictEqual<object>(details, {
      inputId,
      state,
      ...(answeredBy === undefined ? {} : { answeredBy })
    })
  }

  it("of one person at most reach the question, under that person's name", async () => {
    edge = await TalkingEdge.link(first.url, world)
    await fc.assert(
      fc.asyncProperty(Race, async ({ declines, meanwhile, order, repeats }) => {
        // With more effort, the races take longer than a link lives without one.
        await edge.edge.heartbeat()
        const runId: RunId = await new Mirror(first, world.deviceId).open(world.projectId)
        const turn = { runId, create: createRun }
        edge.turns.push(turn)
        await edge.begin(turn)
        const id = await edge.ask(turn, question)
        const bodies = declines.map((declines, i) =>
          declines ? { decline: true } : { answers: { name: `person ${i}` } }
        )
        const answers: Array<Promise<Answer<HubInput>>> = []
        for (const what of order) {
          if (what === 2) {
            if (meanwhile !== null) edge.step(runId, events[meanwhile](id)).pushed.catch(edge.edge.unlessCut)
          } else {
            const person = people[what as 0 | 1]
            answers[what] = answer(person, id, bodies[what])
          }
        }
        const results = await Promise.all(answers)
        const winners = results.flatMap(({ status }, i) => (status === 200 ? [i] : []))
        assert.isAtMost(winners.length, 1)
        const [winner] = winners
        const inputs = [await resolved(id, people[0]), await resolved(id, people[1])]
        assert.deepStrictEqual(inputs[0], inputs[1])
        const [input] = inputs
        assert.isDefined(input)
        if (winner === undefined) {
          assert.include(["expired", "withdrawn", "cancelled"], input.state)
          assert.deepStrictEqual([input.answeredBy, input.answers], [undefined, undefined])
        } else {
          assert.strictEqual(input.answeredBy, people[winner as 0 | 1].userId)
          assert.deepStrictEqual<unknown>(
            [input.state, input.answers],
            declines[winner] === true ? ["declined", undefined] : ["answered", { name: `person ${winner}` }]
          )
        }
        for (const [i, result] of results.entries()) if (i !== winner) checkLoser(result, input)
        if (repeats) checkLoser(await answer(people[0], id, bodies[0]), input)
        // The program received an answer once, and only one that a person gave.
        const responses = edge.responses.filter(({ inputId }) => inputId === id)
        assert.lengthOf(responses, input.state === "withdrawn" ? 0 : 1)
        const [response] = responses
        if (winner === undefined || declines[winner] === true)
          assert.notInclude(["Answered", "PlanApproved"], response?.response._tag)
        else
          assert.deepInclude<object>(response?.response ?? {}, {
            _tag: "Answered",
            answers: { name: `person ${winner}` }
          })
        if (meanwhile !== "end of the run") await edge.step(runId, { _tag: "CancelRequested" }).pushed
      }),
      { numRuns: 30 * effort }
    )
  })

  it("of two people who approve a plan become one message of the first", async () => {
    edge = await TalkingEdge.link(first.url, world)
    for (let i = 0; i < 4 * effort; i++) {
      const talk = await Talk.open(world, { mode: "read_only" })
      const started = edge.turns.length
      await talk.send("Plan it")
      const turn = await edge.turn(started)
      await edge.begin(turn)
      const id = await edge.ask(turn, plan)
      const modes = ["ask", "auto_edit"] as const
      const results = await Promise.all(
        people.map((person, n) =>
          answer(person, id, { approve: true, mode: modes[n as 0 | 1], comment: `by ${n}` })
        )
      )
      const winner = results.findIndex(({ status }) => status === 200)
      const next = await edge.turn(started + 1)
      assert.strictEqual(next.create.mode, modes[winner as 0 | 1])
      const sent = (await talk.messages()).filter(({ text }) => text.startsWith("The plan was approved."))
      assert.deepStrictEqual<unknown>(
        sent.map(({ author, text }) => [author, text.includes(`by ${winner}`)]),
        [[{ kind: "user", userId: people[winner as 0 | 1].userId }, true]]
      )
      await edge.perform(next, "Done")
    }
  })
})
