/**
 * Questions of many runs while an Edge, its Hub, both, or the connection between the Edge and a run's holder end at any moment; and what must hold
 * all the same: a program receives what a person gave, once, and the person's name is in the event, in the resource and at the Hub.
 *
 * Each answer has a text that no other answer has, so that what a program has received names its author.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import type { InputRequest, InputState } from "@corral/domain/input/InputRequest"
import { sealValue } from "@corral/domain/input/Seal"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { HeldRunConnection } from "@corral/edge/holder/HeldRunConnection"
import { holderPlaceOf } from "@corral/edge/holder/HolderPlace"
import { HubClient } from "@corral/testing/hub/HubClient"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { type Chance, restartEdge, restartHub } from "./Chaos.ts"
import type { RecordingAgent } from "./RecordingAgent.ts"

export type Fault = "edge" | "hub" | "both" | "connection"

/** One answer of one person. */
interface Attempt {
  readonly input: InputRequest
  readonly by: string
  readonly text: string
  /** Sends it, or sends it again under the same key. */
  readonly send: () => Promise<{ readonly status: number }>
  outcome: "accepted" | "refused" | "unknown"
}

interface AskingRun {
  readonly id: RunId
  readonly isOfHub: boolean
  /** Its process was killed or cancelled: it need not receive what was answered. */
  isCut: boolean
}

/** What happened, for the report. */
export interface RestartCounts {
  readonly runs: number
  readonly answers: number
  readonly states: Partial<Record<InputState, number>>
  readonly received: number
  readonly unanswered: number
  readonly unknown: number
}

const LIVE_RUNS = 6
const END_MS = 120_000

const TEXT = /text-\d+-of-[a-z]+/g

const questionLines = [
  "/question Which? | A | B",
  "/question What is its name?",
  "/secret Token?",
  "/plan Do it",
  "/ask-next And then?",
  "/self-answer Never mind?",
  "/withdraw Or that?"
] as const

export class QuestionRestarts {
  readonly #joined: Joined
  readonly #agent: RecordingAgent
  readonly #chance: Chance
  readonly #people: ReadonlyArray<{ readonly name: string; readonly client: () => HubClient }>
  readonly #runs: Array<AskingRun> = []
  readonly #attempts: Array<Attempt> = []
  readonly secrets: Array<string> = []

  constructor(joined: Joined, agent: RecordingAgent, chance: Chance, colleague: HubClient) {
    this.#joined = joined
    this.#agent = agent
    this.#chance = chance
    this.#people = [
      { name: "owner", client: () => joined.owner },
      // The Hub may have another address after a restart.
      { name: "colleague", client: () => new HubClient(joined.hub.url, colleague.token, colleague.userId) }
    ]
  }

  /** Answers questions while the fault happens. */
  async suffer(fault: Fault): Promise<void> {
    await this.#fill()
    const work = this.#answerSome(await this.#open())
    await pause(this.#chance.below(60))
    await this.#break(fault)
    await work
    for (const attempt of this.#attempts)
      if (attempt.outcome === "unknown" && this.#chance.below(2) === 0) await this.#try(attempt)
  }

  /** Answers what is open until all runs have ended. */
  async finish(): Promise<void> {
    await until(
      async () => {
        for (const input of await this.#open()) await this.#try(await this.#attempt(input, "local"))
        const live = await this.#live()
        return live.length === 0 ? true : undefined
      },
      "the ends of all runs",
      END_MS
    )
  }

  /** Checks each question of each run. */
  async check(): Promise<RestartCounts> {
    const states: Partial<Record<InputState, number>> = {}
    let received = 0
    let unanswered = 0
    for (const run of this.#runs) {
      const responses = this.#agent.responses(run.id)
      received += responses.length
      unanswered += responses.filter(({ unanswered: reason }) => reason !== undefined).length
      const inputs = await this.#inputsOf(run)
      const events = await this.#joined.edge.client.log(run.id)
      this.#checkReceived(run, inputs)
      for (const input of inputs) {
        states[input.state] = (states[input.state] ?? 0) + 1
        this.#checkInput(run, input, events)
      }
      if (run.isOfHub) await this.#checkHub(run, inputs)
    }
    return {
      runs: this.#runs.length,
      answers: this.#attempts.length,
      states,
      received,
      unanswered,
      unknown: this.#attempts.filter(({ outcome }) => outcome === "unknown").length
    }
  }

  /** The program has received only texts of people, each once, for questions that are answered. */
  #checkReceived({ id, isCut }: AskingRun, inputs: ReadonlyArray<InputRequest>): void {
    const texts = this.#agent.responses(id).flatMap((response) => {
      const found = JSON.stringify(response).match(TEXT) ?? []
      assert.strictEqual(found.length, response.unanswered === undefined ? 1 : 0, JSON.stringify(response))
      return found
    })
    assert.strictEqual(new Set(texts).size, texts.length, `an answer arrived twice: ${texts.join(" ")}`)
    const winners = texts.map((text) => {
      const attempt = this.#attempts.find((one) => one.text === text)
      assert.isDefined(attempt, `no person gave ${text}`)
      assert.notStrictEqual(attempt.outcome, "refused", `a refused answer arrived: ${text}`)
      return attempt
    })
    const answered = inputs.filter(({ state }) => state === "answered").map((input) => input.id)
    const ids = winners.map(({ input }) => input.id)
    if (isCut) for (const inputId of ids) assert.include(answered, inputId)
    else assert.sameMembers(ids, answered, `${id}: each answered question has its answer at the program`)
  }

  #checkInput({ id, isCut }: AskingRun, input: InputRequest, events: ReadonlyArray<Envelope>): void {
    const attempts = this.#attempts.filter((one) => one.input.id === input.id)
    const accepted = attempts.filter(({ outcome }) => outcome === "accepted")
    const facts = `${id} ${JSON.stringify(input)}, ${attempts.map(({ by, outcome, text }) => `${text} of ${by} ${outcome}`).join(", ")}`
    assert.isAtMost(accepted.length, 1, facts)
    assert.notStrictEqual(input.state, "pending", facts)
    const resolved = events.filter(
      ({ payload, type }) => type === "run.input.resolved" && payload["inputId"] === input.id
    )
    assert.lengthOf(resolved, 1, facts)
    assert.deepInclude(resolved[0]?.payload, { state: input.state }, facts)
    assert.strictEqual(resolved[0]?.payload["by"], input.answeredBy, facts)
    const [winner] = accepted
    if (winner !== undefined) assert.strictEqual(input.state, "answered", facts)
    if (input.state !== "answered") return assert.isUndefined(input.answeredBy, facts)
    const text = this.#agent
      .responses(id)
      .flatMap((response) => JSON.stringify(response).match(TEXT) ?? [])
      .find((one) => attempts.some((attempt) => attempt.text === one))
    const receivedOf = attempts.find((attempt) => attempt.text === text)
    if (!isCut) assert.isDefined(receivedOf, facts)
    if (receivedOf !== undefined) assert.strictEqual(receivedOf.by, input.answeredBy, facts)
    if (winner !== undefined) assert.strictEqual(winner.by, input.answeredBy, facts)
  }

  async #checkHub({ id }: AskingRun, inputs: ReadonlyArray<InputRequest>): Promise<void> {
    await this.#joined.runWith(id, ({ state }) => state !== "queued" && isTerminal(state))
    const { body } = await this.#joined.owner.ask<{ readonly items: ReadonlyArray<HubInput> }>(
      "GET",
      `/client/inputs?runId=${id}&limit=200`
    )
    const facts = (of: ReadonlyArray<InputRequest>) =>
      of.map(({ answeredBy, answers, comment, id: inputId, state }) => ({
        inputId,
        state,
        answeredBy,
        answers,
        comment
      }))
    assert.deepStrictEqual(facts(body.items), facts(inputs), id)
  }

  /** Starts runs until that number is live, every other one through the Hub. */
  async #fill(): Promise<void> {
    for (let live = (await this.#live()).length; live < LIVE_RUNS; live++) {
      const text = ["/say start", ...this.#script(), "/say over"].join("\n")
      const ttl = this.#chance.below(3) === 0 ? { inputTtlMs: 1_000 + this.#chance.below(2_000) } : {}
      const isOfHub = this.#runs.length % 2 === 0
      const id = isOfHub
        ? (await this.#joined.task({ text, agentId: this.#agent.id, ...ttl })).runId
        : ((await this.#joined.edge.client.create(text, "ask", { agentId: this.#agent.id, ...ttl }))
            .id as RunId)
      this.#runs.push({ id, isOfHub, isCut: false })
    }
  }

  #script(): ReadonlyArray<string> {
    return Array.from(
      { length: 2 + this.#chance.below(3) },
      () => questionLines[this.#chance.below(questionLines.length)] ?? questionLines[0]
    )
  }

  async #live(): Promise<ReadonlyArray<AskingRun>> {
    const live: Array<AskingRun> = []
    for (const run of this.#runs) {
      const { body, status } = await this.#joined.edge.client.ask("GET", `/v1/runs/${run.id}`)
      // A Hub that was killed sends the start again.
      if (status === 404 || !isTerminal((body as Run).state)) live.push(run)
    }
    return live
  }

  async #open(): Promise<ReadonlyArray<InputRequest>> {
    const { body } = await this.#joined.edge.client.ask("GET", "/v1/inputs?state=pending&limit=200")
    // Checked against the contract by the client.
    return (body as { readonly items: ReadonlyArray<InputRequest> }).items
  }

  async #inputsOf({ id }: AskingRun): Promise<ReadonlyArray<InputRequest>> {
    const { body } = await this.#joined.edge.client.ask("GET", `/v1/inputs?runId=${id}&limit=200`)
    return (body as { readonly items: ReadonlyArray<InputRequest> }).items
  }

  /** Some questions are answered, some by two people at the same time, one run is cancelled now and then. */
  async #answerSome(inputs: ReadonlyArray<InputRequest>): Promise<void> {
    const open = inputs.filter(() => this.#chance.below(3) > 0)
    const sent: Array<Promise<unknown>> = []
    for (const input of open)
      for (let count = 1 + this.#chance.below(2); count > 0; count--) {
        const { isOfHub = false } = this.#runs.find(({ id }) => id === input.runId) ?? {}
        const person = this.#people[this.#chance.below(this.#people.length)]
        const by = isOfHub && person !== undefined && this.#chance.below(3) > 0 ? person.name : "local"
        sent.push(this.#try(await this.#attempt(input, by)))
      }
    const [first] = open
    const run = this.#runs.find(({ id }) => id === first?.runId)
    if (run !== undefined && this.#chance.below(12) === 0) {
      run.isCut = true
      sent.push(this.#joined.edge.client.cancel(run.id).catch(() => undefined))
    }
    await Promise.all(sent)
  }

  async #attempt(input: InputRequest, by: string): Promise<Attempt> {
    const text = `text-${this.#attempts.length}-of-${by}`
    const [question] = input.questions ?? []
    const isSecret = question?.secret === true
    if (isSecret) this.secrets.push(text)
    const { sealingKey = "" } = input
    const value = isSecret
      ? await sealValue(sealingKey, input.id, text)
      : question?.kind === "choice"
        ? { other: text }
        : text
    const answer =
      input.kind === "plan" ? { approve: true, comment: text } : { answers: { [question?.id ?? "1"]: value } }
    const headers = { "idempotency-key": `answer-${this.#attempts.length}` }
    const person = this.#people.find(({ name }) => name === by)
    const attempt: Attempt = {
      input,
      by: person?.client().userId ?? "local",
      text,
      outcome: "unknown",
      send: () =>
        person === undefined
          ? this.#joined.edge.client.answer(input.runId, input.id, answer, headers)
          : person.client().ask("POST", `/client/inputs/${input.id}/answer`, { body: answer, headers })
    }
    this.#attempts.push(attempt)
    return attempt
  }

  /** A response that was lost, or that says that a service is unavailable, says nothing about the answer. */
  async #try(attempt: Attempt): Promise<void> {
    const status = await attempt.send().then(
      (response) => response.status,
      () => undefined
    )
    if (status === undefined || status >= 500) {
      this.#lost.add(attempt)
      if (attempt.outcome === "refused") attempt.outcome = "unknown"
    } else if (status === 200) attempt.outcome = "accepted"
    // A refusal next to a lost response may be about this answer itself.
    else if (attempt.outcome === "unknown" && !this.#lost.has(attempt)) attempt.outcome = "refused"
  }

  readonly #lost = new WeakSet<Attempt>()

  async #break(fault: Fault): Promise<void> {
    switch (fault) {
      case "edge":
        await restartEdge(this.#joined)
        break
      case "hub":
        await restartHub(this.#joined, 0)
        break
      case "both":
        await Promise.all([this.#joined.edge.kill(), this.#joined.hub.end("SIGKILL")])
        await this.#joined.hub.start()
        this.#joined.found()
        await this.#joined.edge.start()
        break
      case "connection":
        return this.#cutHeldRun()
    }
    await this.#joined.online()
  }

  /** Another connection replaces that of the Edge. To the Edge, the process has died. */
  async #cutHeldRun(): Promise<void> {
    const live = await this.#live()
    const run = live[this.#chance.below(Math.max(1, live.length))]
    if (run === undefined) return
    run.isCut = true
    await Effect.runPromise(
      HeldRunConnection.open(holderPlaceOf(this.#joined.edge.home), run.id).pipe(
        Effect.map((connection) => connection.close()),
        Effect.ignore
      )
    )
  }
}
