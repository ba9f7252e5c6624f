/**
 * Questions in every order of answers, expiries, withdrawals, cancels and finishes, with an Edge that dies at any commit: what the program
 * receives is what a person gave, once, and the winner's name is in the row. A run between its turns has its limit at the holder.
 */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { effort } from "@corral/testing/time/Effort"
import { assert, it, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"
import { Artifacts } from "../../src/artifact/Artifacts.ts"
import { edgeDefaults } from "../../src/config/EdgeConfig.ts"
import { pageOfInputs } from "../../src/store/EdgeRequestRows.ts"
import { readJournal } from "../../src/journal/RunJournal.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { Store, type StoreFailed } from "../../src/store/Store.ts"
import type { HeldClocks } from "../../src/run/actor/RunSession.ts"
import { temporaryFolder } from "../Folder.ts"
import { memoryLogLayer } from "../Stored.ts"
import { type Crash, SimulatedEdge, type SimulatedServices } from "./SimulatedEdge.ts"
import { type ProgramStep, type ReceivedResponse, SimulatedProgram } from "./SimulatedProgram.ts"

type Action =
  | { readonly _tag: "Answer"; readonly by: string; readonly choice: number }
  | { readonly _tag: "Race"; readonly choices: readonly [number, number] }
  | { readonly _tag: "Decline"; readonly by: string }
  | { readonly _tag: "GiveUp" | "Cancel" | "Finish" | "Message" | "Die" | "DieTwice" | "Pause" }
  | { readonly _tag: "Arm"; readonly crash: Crash }

const people = ["ada", "bo"] as const
const choice = fc.nat({ max: 3 })
const plain = <T extends Exclude<Action["_tag"], "Answer" | "Race" | "Decline" | "Arm">>(_tag: T) =>
  fc.constant({ _tag })

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ _tag: fc.constant("Answer"), by: fc.constantFrom(...people), choice })
  },
  { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Race"), choices: fc.tuple(choice, choice) }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Decline"), by: fc.constantFrom(...people) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      _tag: fc.constant("Arm"),
      crash: fc.record({ commits: fc.integer({ min: 1, max: 3 }), when: fc.constantFrom("before", "after") })
    })
  },
  { weight: 2, arbitrary: plain("Die") },
  { weight: 1, arbitrary: plain("DieTwice") },
  { weight: 1, arbitrary: plain("GiveUp") },
  { weight: 1, arbitrary: plain("Message") },
  { weight: 1, arbitrary: plain("Pause") },
  { weight: 1, arbitrary: plain("Finish") },
  { weight: 1, arbitrary: plain("Cancel") }
) as fc.Arbitrary<Action> // tags are literals

const anySteps = fc.array(
  fc.constantFrom<ProgramStep>(
    "ask",
    "ask",
    "plan",
    "secret",
    "leave",
    "askNext",
    "work",
    "endTurn",
    "continue"
  ),
  { minLength: 1, maxLength: 5 }
)

interface Attempt {
  readonly inputId: InputRequestId
  readonly by: string
  readonly answer: InputAnswer
  result: "accepted" | "refused" | "unknown"
}

const answerFor = ({ kind, questions = [] }: InputRequest, choice: number): InputAnswer => {
  if (kind === "plan") return { approve: choice % 2 === 0, comment: `because ${choice}` }
  const isChoice = questions[0]?.kind === "choice"
  return {
    answers: {
      "1":
        isChoice && choice < 2
          ? (["a", "b"][choice] ?? "a")
          : isChoice
            ? { other: `own ${choice}` }
            : `text number ${choice}`
    }
  }
}

class Case {
  readonly edge: SimulatedEdge
  readonly attempts: Array<Attempt> = []

  constructor(steps: ReadonlyArray<ProgramStep>, ttlMs: number | undefined) {
    this.edge = new SimulatedEdge(new SimulatedProgram(steps), ttlMs)
  }

  readonly perform = Effect.fnUntraced({ self: this }, function* (action: Action): Effect.fn.Return<
    unknown,
    StoreFailed,
    SimulatedServices
  > {
    const { edge } = this
    switch (action._tag) {
      case "Answer":
        return yield* this.#withNewest((input) =>
          this.#give(input, action.by, answerFor(input, action.choice))
        )
      case "Decline":
        return yield* this.#withNewest((input) => this.#give(input, action.by, { decline: true }))
      case "Race":
        return yield* this.#withNewest((input) =>
          Effect.all(
            action.choices.map((choice, at) => this.#give(input, people[at] ?? "", answerFor(input, choice))),
            { concurrency: 2 }
          )
        )
      case "GiveUp":
        return edge.program.giveUp()
      case "Cancel":
        return edge.actor.cancel("stop", "ada")
      case "Finish":
        return yield* this.#orCrash(Effect.exit(edge.actor.finish("ada")))
      case "Pause":
        return yield* this.#orCrash(Effect.exit(edge.actor.pause("ada")))
      case "Message":
        return yield* this.#orCrash(Effect.exit(edge.actor.input("more", undefined, undefined, undefined)))
      case "Arm":
        return edge.arm(action.crash)
      case "Die":
        return yield* this.#restart()
      case "DieTwice":
        yield* this.#restart()
        return yield* this.#restart()
    }
  })

  /** How often the Edge has died under a run between its turns. */
  idleDeaths = 0

  /** The Edge dies, and the next one continues. */
  readonly #restart = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    void,
    never,
    SimulatedServices
  > {
    yield* this.edge.die()
    const { clocks } = this.edge.program
    yield* this.edge.continue()
    if (checkHolder(this.edge, clocks)) this.idleDeaths++
  })

  /** Until nothing happens by itself any longer, with an Edge that lives. */
  readonly settle = Effect.fnUntraced({ self: this }, function* () {
    yield* this.#orCrash(this.edge.quiet())
    yield* this.#restart()
    yield* this.edge.quiet()
  })

  readonly step = Effect.fnUntraced({ self: this }, function* () {
    yield* this.#orCrash(this.edge.quiet())
  })

  #withNewest(use: (input: InputRequest) => Effect.Effect<unknown, never, SimulatedServices>) {
    return Effect.flatMap(Store, (store) => {
      const input = pageOfInputs(store, { runId: this.edge.runId, limit: 1_000 }).at(-1)
      return input === undefined ? Effect.void : this.#orCrash(use(input))
    })
  }

  readonly #give = Effect.fnUntraced(
    { self: this },
    function* (input: InputRequest, by: string, answer: InputAnswer) {
      const attempt: Attempt = { inputId: input.id, by, answer, result: "unknown" }
      this.attempts.push(attempt)
      const submission = { answer, by, origin: "terminal" as const, allowsPlain: true, keep: undefined }
      const exit = yield* Effect.exit(this.edge.actor.answer(input.id, submission))
      if (exit._tag === "Success") attempt.result = "accepted"
      else if (!JSON.stringify(exit.cause).includes("RunGone")) attempt.result = "refused"
    }
  )

  /** The next Edge starts if this one dies meanwhile. */
  #orCrash<E, R>(effect: Effect.Effect<unknown, E, R>) {
    return Effect.raceFirst(Effect.as(effect, "done"), Effect.as(this.edge.crashed, "crashed")).pipe(
      Effect.tap((end) => (end === "done" ? Effect.void : this.#restart()))
    )
  }
}

const LIMIT_MS = edgeDefaults.times.background

/**
 * A holder whose Edge has died ends a run between its turns at the limit of its work, and no run in a turn: a limit that an earlier turn has left
 * is as long as a new one. Returns whether the run was between its turns.
 */
const checkHolder = (edge: SimulatedEdge, clocks: HeldClocks | undefined): boolean => {
  const { adoption, continued, program } = edge
  if (adoption === undefined || adoption.unappliedOutputs > 0) return false
  const { isIdle, pending, pendingInputs, turn, verdict } = adoption.state
  const isLimited = isIdle && pending.size === 0 && pendingInputs.size === 0 && verdict === undefined
  const { applied = 0, at = Infinity } = clocks?.background ?? {}
  const counts = applied >= program.printed.length
  const facts = `turn ${turn}, idle ${isIdle}, ${JSON.stringify(clocks)}, ${program.printed.length} bytes`
  if (isLimited) {
    assert.isDefined(clocks?.background, `no limit: ${facts}`)
    assert.isTrue(counts, `a limit that does not count: ${facts}`)
    assert.isDefined(continued?.background, `the next Edge removes the limit: ${facts}`)
  } else if (!isIdle && counts) assert.isAtLeast(at, adoption.updatedAt + LIMIT_MS, `an old limit: ${facts}`)
  return isLimited
}

/** What the program receives of an answer. */
const matches = (answer: InputAnswer, received: ReceivedResponse): boolean => {
  if ("decline" in answer) return received.unanswered !== undefined
  if ("approve" in answer) return received.approved === answer.approve
  return JSON.stringify(received.answers) === JSON.stringify(answer.answers)
}

const check = Effect.fnUntraced(function* ({ attempts, edge }: Case) {
  const store = yield* Store
  const log = yield* EdgeEventLog
  const { program, runId } = edge
  const keys = new Map(readJournal(store, runId).questions.map(({ inputId, key }) => [inputId, key]))
  const events = log
    .read(runId, 0, 100_000_000)
    .flatMap(({ lines }) => lines.split("\n").map((line) => JSON.parse(line) as RunEvent))
  for (const input of pageOfInputs(store, { runId, limit: 1_000 })) {
    const received = program.responses.filter(({ id }) => id === keys.get(input.id))
    const submitted = attempts.filter(({ inputId }) => inputId === input.id)
    const accepted = submitted.filter(({ result }) => result === "accepted")
    const resolved = events.filter(
      ({ payload, type }) => type === "run.input.resolved" && payload["inputId"] === input.id
    )
    const facts = JSON.stringify({ input, received, submitted })
    assert.isAtMost(received.length, 1, `each answer arrives once: ${facts}`)
    assert.isAtMost(accepted.length, 1, `one answer wins: ${facts}`)
    assert.lengthOf(resolved, input.state === "pending" ? 0 : 1, facts)
    const [response] = received
    const isPerson = input.state === "answered" || input.state === "declined"
    assert.strictEqual(input.answeredBy !== undefined, isPerson, `a name stands for a person: ${facts}`)
    if (response !== undefined && response.unanswered === undefined)
      assert.strictEqual(input.state, "answered", `no choice without a person: ${facts}`)
    if (isPerson) {
      const winner = submitted.find(
        ({ answer, by, result }) =>
          result !== "refused" &&
          by === input.answeredBy &&
          response !== undefined &&
          matches(answer, response)
      )
      assert.isDefined(winner, `the winner's answer is what arrived: ${facts}`)
      if (accepted[0] !== undefined) assert.strictEqual(accepted[0].by, input.answeredBy, facts)
    } else assert.isEmpty(accepted, `an accepted answer counts: ${facts}`)
    if (input.questions?.[0]?.secret === true && input.answers !== undefined)
      assert.deepStrictEqual(input.answers, { "1": {} }, `a secret is not stored: ${facts}`)
  }
})

const layer = Layer.unwrap(
  Effect.map(temporaryFolder, (home) => Artifacts.layer({ home, minFreeBytes: 0 }))
).pipe(Layer.provideMerge(memoryLogLayer))

describe("questions of a run whose Edge dies", () => {
  it("receive what a person gave, once, and nothing else", { timeout: 600_000 * effort }, () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(layer)
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(
                anySteps,
                fc.array(anyAction, { maxLength: 8 }),
                fc.option(fc.constantFrom(2, 10), { nil: undefined, freq: 4 }),
                (steps, actions, ttlMs) =>
                  Effect.runPromiseWith(context)(
                    Effect.gen(function* () {
                      const one = new Case(steps, ttlMs)
                      yield* one.edge.begin()
                      yield* one.step()
                      for (const action of actions) {
                        yield* one.perform(action)
                        yield* one.step()
                      }
                      yield* one.settle()
                      yield* check(one)
                      yield* one.edge.die()
                    })
                  )
              ),
              { numRuns: effort === 1 ? 200 : 1_000 * effort }
            )
          )
        })
      )
    )
  )

  it.live("are asked again, under another id, if the key of a secret is lost", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const one = new Case(["secret"], undefined)
      const { edge } = one
      yield* edge.begin()
      yield* one.step()
      yield* edge.die()
      for (const id of Object.keys(edge.program.keys)) delete edge.program.keys[id]
      yield* edge.continue()
      yield* one.step()
      const inputs = pageOfInputs(store, { runId: edge.runId, limit: 10 })
      assert.deepStrictEqual(
        inputs.map(({ state }) => state),
        ["withdrawn", "pending"]
      )
      assert.notStrictEqual(inputs[0]?.sealingKey, inputs[1]?.sealingKey)
      assert.isEmpty(edge.program.responses)
      yield* one.perform({ _tag: "Answer", by: "ada", choice: 2 })
      yield* one.settle()
      assert.deepInclude(edge.program.responses[0], { answers: { "1": "text number 2" } })
      assert.lengthOf(edge.program.responses, 1)
      const [, second] = pageOfInputs(store, { runId: edge.runId, limit: 10 })
      assert.deepInclude(second, { state: "answered", answeredBy: "ada", answers: { "1": {} } })
      yield* edge.die()
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})

/** What the program does after the answer to its question, until its turn has ended. */
const endings: ReadonlyArray<ReadonlyArray<ProgramStep>> = [
  ["work", "endTurn"],
  ["work", "endTurn", "continue", "endTurn"],
  ["work", "endTurn", "leave"],
  ["work", "endTurn", "continue", "leave", "endTurn"]
]
const crashes = [1, 2, 3, 4].flatMap((commits) =>
  (["before", "after"] as const).map((when): Crash => ({ commits, when }))
)

describe("a run whose Edge dies at a commit around the end of its turn", () => {
  it.live.each(endings)("has its limit at the holder, also after a second death: %s", (steps) =>
    Effect.gen(function* () {
      let idleDeaths = 0
      for (const crash of crashes)
        for (const action of [{ _tag: "Answer", by: "ada", choice: 0 }, { _tag: "Message" }] as const) {
          const one = new Case(["ask", ...steps], undefined)
          yield* one.edge.begin()
          yield* one.step()
          if (action._tag === "Message") yield* one.perform({ _tag: "Answer", by: "ada", choice: 0 })
          if (action._tag === "Message") yield* one.step()
          yield* one.perform({ _tag: "Arm", crash })
          yield* one.perform(action)
          yield* one.step()
          yield* one.perform({ _tag: "DieTwice" })
          idleDeaths += one.idleDeaths
          yield* one.edge.die()
        }
      assert.isAtLeast(idleDeaths, crashes.length)
    }).pipe(Effect.provide(layer), Effect.scoped)
  )

  it.live("keeps a finish that ends no work, and its limit", () =>
    Effect.gen(function* () {
      const one = new Case(["askNext", "endTurn"], undefined)
      yield* one.edge.begin()
      for (const action of [
        { _tag: "Message" },
        { _tag: "Answer", by: "ada", choice: 0 },
        { _tag: "Finish" }
      ] as const) {
        yield* one.step()
        yield* one.perform(action)
      }
      yield* one.settle()
      assert.deepInclude<object>(one.edge.adoption?.state.verdict ?? {}, { _tag: "Completed" })
      yield* one.edge.die()
    }).pipe(Effect.provide(layer), Effect.scoped)
  )
})
