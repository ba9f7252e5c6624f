/**
 * Edges of one simulated run, one after the other, over one store. Each is the run's actor with its journal; the next one continues from the
 * store and the program, as after a crash.
 */
import { makeScripted } from "@corral/adapters/Scripted"
import type { Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import type { RunState } from "@corral/domain/run/RunState"
import { Deferred, Effect, Fiber } from "effect"
import { edgeDefaults } from "../../src/config/EdgeConfig.ts"
import { hasSecrets } from "../../src/input/SecretAnswers.ts"
import { appliedOutputs, readJournal } from "../../src/journal/RunJournal.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { findRun } from "../../src/log/Runs.ts"
import { Artifacts } from "../../src/artifact/Artifacts.ts"
import {
  type HeldClocks,
  type RunActorOptions,
  type RunHold,
  noneElapsed
} from "../../src/run/actor/RunSession.ts"
import { BudgetMeter, CostMeter } from "../../src/run/kernel/BudgetMeter.ts"
import { openedJournal, pendingRows, readLoggedRun } from "../../src/run/recovery/Recovery.ts"
import { OutputRedaction } from "../../src/run/kernel/OutputRedaction.ts"
import { RunActor } from "../../src/run/actor/RunActor.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { RunReplay } from "../../src/run/adoption/RunReplay.ts"
import { Store, type StoreFailed } from "../../src/store/Store.ts"
import { policyOf } from "../approval/RunPolicies.ts"
import { created, newRunId, runOf } from "../Samples.ts"
import type { SimulatedProgram } from "./SimulatedProgram.ts"

const scripted = makeScripted({ node: "/usr/bin/node", program: "/scripted.mjs" })
const start: RunStart = { prompt: "Go.", mode: "ask", workspacePath: "/ws" }
const command = { file: "/scripted", args: [], cwd: "/ws", env: {}, stdin: "pipe" } as const
/** A stop never ends the program: it does not leave by itself. */
const times = { ...edgeDefaults.times, cancel: 600_000, leave: 600_000 }

export type SimulatedServices = Store | EdgeEventLog | Artifacts

/** When the Edge dies: at that commit from now on, before or after it is on disk. */
export interface Crash {
  readonly commits: number
  readonly when: "before" | "after"
}

/** A run as an Edge that adopts it finds it. */
export interface Adoption {
  readonly state: RunState
  /** Time of its last event, in Unix milliseconds. */
  readonly updatedAt: number
  /** Outputs that the Edge before had not applied. */
  readonly unappliedOutputs: number
}

export class SimulatedEdge {
  readonly program: SimulatedProgram
  readonly #ttlMs: number | undefined
  #runId = newRunId()
  #actor: RunActor | undefined
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  #crash: Crash | undefined
  #commits = 0
  #crashed = Deferred.makeUnsafe<void>()
  #adoption: Adoption | undefined
  #continued: HeldClocks | undefined

  constructor(program: SimulatedProgram, ttlMs: number | undefined) {
    this.program = program
    this.#ttlMs = ttlMs
  }

  get actor(): RunActor {
    if (this.#actor === undefined) throw new Error("the Edge is not started")
    return this.#actor
  }

  get runId() {
    return this.#runId
  }

  /** What this Edge has found; `undefined` in the first one. */
  get adoption(): Adoption | undefined {
    return this.#adoption
  }

  /** The first clocks that this Edge has given to the holder; `undefined` in the first Edge. */
  get continued(): HeldClocks | undefined {
    return this.#continued
  }

  /** Succeeds when an armed crash has happened. */
  get crashed(): Effect.Effect<void> {
    return Deferred.await(this.#crashed)
  }

  arm(crash: Crash): void {
    this.#crash = crash
    this.#commits = 0
  }

  readonly begin = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    void,
    StoreFailed,
    SimulatedServices
  > {
    const run = runOf(this.#runId, { inputTtlMs: this.#ttlMs ?? 86_400_000 })
    const recorder = new RunRecorder(run)
    recorder.apply(created)
    const batch = recorder.take()
    if (batch === undefined) return yield* Effect.die("a new run has nothing to write")
    const log = yield* EdgeEventLog
    yield* log.append(batch.events, batch.projections)
    recorder.committed(batch.run)
    this.#live(yield* this.#options(recorder, scripted.protocol(start), {}))
  })

  /** Dies now, if it is alive. The program continues. */
  readonly die = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<void> {
    const fiber = this.#fiber
    this.#fiber = undefined
    this.#crash = undefined
    this.program.detach()
    if (fiber !== undefined) yield* Fiber.interrupt(fiber)
    this.#crashed = Deferred.makeUnsafe()
  })

  /** The next Edge. */
  readonly continue = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    void,
    never,
    SimulatedServices
  > {
    const log = yield* EdgeEventLog
    const store = yield* Store
    const run = findRun(store, this.#runId)
    if (run === undefined) return yield* Effect.die("the run is not stored")
    const logged = readLoggedRun(log, run)
    const stored = readJournal(store, run.id)
    const { journal, secrets } = yield* openedJournal(store, stored, this.program.keys).pipe(Effect.orDie)
    const protocol = scripted.protocol(start)
    const redaction = new OutputRedaction([])
    const budget = new BudgetMeter(run.budget)
    const cost = new CostMeter(() => undefined)
    const applied = appliedOutputs(store, run.id, journal)
    const replay = new RunReplay({
      protocol,
      redaction,
      budget,
      cost,
      journal,
      secrets,
      appliedOutputs: applied
    })
    replay.step(this.program.printed)
    if (!replay.finish()) return yield* Effect.die("the journal does not fit the output")
    const { state: unlogged } = journal
    const { cancelledBy, held, isTurnDue, rejection, used, verdict } = unlogged ?? {}
    this.#adoption = {
      state: { ...logged.state, verdict },
      updatedAt: Date.parse(run.updatedAt),
      unappliedOutputs: replay.rest.length
    }
    const pending = pendingRows(store, run)
    const recorder = RunRecorder.recovered(
      { ...run, lastSeq: logged.lastSeq },
      { ...logged.state, verdict, held, isTurnDue, rejection, cancelledBy, used },
      pending,
      logged.contents
    )
    const keys = new Map(journal.questions.map(({ inputId, key }) => [inputId, key]))
    const isLost = (input: (typeof pending.inputs)[number]) =>
      hasSecrets(input) && this.program.keys[input.id] === undefined
    const options = yield* this.#options(recorder, protocol, {
      redaction,
      adopted: {
        command,
        position: replay.position,
        journal,
        reported: {
          diff: undefined,
          isOver: unlogged?.isOver,
          isCancelled: journal.calls.some(({ _tag }) => _tag === "Cancel")
        },
        appliedOutputs: applied,
        budget,
        cost,
        stdinBytes: this.program.stdinBytes,
        texts: replay.texts,
        outputs: replay.rest,
        isStopping: unlogged?.isStopping === true,
        elapsed: noneElapsed,
        endedBy: undefined,
        lostKeys: pending.inputs.filter(isLost).map(({ id }) => ({ inputId: id, key: keys.get(id) ?? "" })),
        hasEnded: false,
        attach: (_, handlers) => this.program.attach(handlers, replay.position.bytes)
      }
    })
    const actor = new RunActor(options)
    for (const input of pending.inputs.filter((one) => !isLost(one))) {
      const privateKey = this.program.keys[input.id]
      const publicKey = input.sealingKey
      actor.reopenInput({
        id: input.id,
        key: keys.get(input.id) ?? "",
        expiresMs: input.expiresAt === undefined ? undefined : Date.parse(input.expiresAt),
        sealing:
          hasSecrets(input) && privateKey !== undefined && publicKey !== undefined
            ? { privateKey, publicKey }
            : undefined
      })
    }
    this.#live(options, actor)
  })

  /** Waits until the actor has nothing left to do. */
  readonly quiet = Effect.fnUntraced({ self: this }, function* (): Effect.fn.Return<
    void,
    never,
    SimulatedServices
  > {
    const log = yield* EdgeEventLog
    for (let same = 0, last = -1; same < 4;) {
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      yield* Effect.exit(this.actor.resume("test"))
      const seq = log.lastSeq(this.#runId) + this.program.printed.length + this.program.stdinBytes
      same = seq === last ? same + 1 : 0
      last = seq
    }
  })

  #live(options: RunActorOptions, actor = new RunActor(options)): void {
    this.#actor = actor
    this.#fiber = Effect.runFork(Effect.scoped(actor.live))
  }

  readonly #options = Effect.fnUntraced(
    { self: this },
    function* (
      recorder: RunRecorder,
      protocol: Protocol,
      more: Partial<RunActorOptions>
    ): Effect.fn.Return<RunActorOptions, never, SimulatedServices> {
      const log = yield* EdgeEventLog
      const hold: RunHold = {
        group: undefined,
        start: (_, handlers) => this.program.attach(handlers, 0),
        continueAfter: (_, clocks) => {
          this.#continued = clocks
          this.program.clocks = clocks
        },
        follow: (clocks) => void (this.program.clocks = clocks),
        keepKey: (id, key) => void (this.program.keys[id] = key),
        isLeft: true,
        end: Effect.void,
        leave: () => undefined
      }
      const options: RunActorOptions = {
        recorder,
        protocol,
        specificationVersion: 2,
        priceOf: () => undefined,
        prepare: Effect.succeed(command),
        snapshot: Effect.void,
        review: Effect.succeed([]),
        policy: policyOf(),
        commits: undefined,
        protection: undefined,
        root: "/ws",
        edgeId: "edge_simulated",
        continues: undefined,
        redaction: new OutputRedaction([]),
        times,
        log: this.#crashing(log),
        artifacts: yield* Artifacts,
        hold,
        onUnknown: () => undefined,
        ...more
      }
      return options
    }
  )

  /** The log of an Edge that dies at a commit. */
  #crashing(log: EdgeEventLog["Service"]): EdgeEventLog["Service"] {
    const isDue = () => this.#crash !== undefined && ++this.#commits >= this.#crash.commits
    const crash = () => Deferred.doneUnsafe(this.#crashed, Effect.void)
    return {
      ...log,
      submit: (events, rows, done) => {
        if (!isDue()) log.submit(events, rows, done)
        else if (this.#crash?.when === "before") crash()
        else log.submit(events, rows, crash)
      }
    }
  }
}
