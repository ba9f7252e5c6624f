/**
 * The runs of one home, whichever Edge they belong to, and the clock that ends them when no Edge returns.
 *
 * Guarantees: one control connection. While there is none, runs whose time is over are ended, and after the orphan time all of them, with
 * every process that carries their marks. Without runs and control connection, the holder ends.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { killGroup } from "../process/ControlGroup.ts"
import { type MarkedProcesses, type Survivors, findAllSurvivors } from "../process/MarkSearch.ts"
import { signalGroup, sweepTarget } from "../process/ProcessSweep.ts"
import { HeldRun, type HeldRunListener } from "./HeldRun.ts"
import type { HolderConnection, HolderRegistry } from "./HolderConnection.ts"
import { HOLDER_FORMAT, frameTypes, jsonFrame } from "./HolderFrames.ts"
import type { HolderHello } from "./HolderMessages.ts"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { Launcher, PreparedLauncher } from "../process/Launcher.ts"

// The launcher of the holder's next run, in a control group of the Edge that is connected.

class Launchers {
  #folder: string | undefined
  #prepared: PreparedLauncher | undefined
  #closing: Promise<unknown> = Promise.resolve()

  /** The launcher, if it is ready and its group is in this folder. */
  take(folder: string): Launcher | undefined {
    if (folder !== this.#folder) void this.close()
    this.#folder = folder
    this.#prepared ??= new PreparedLauncher(() => Launcher.start(join(folder, `ready-${randomUUID()}`)))
    return this.#prepared.take()
  }

  /** Ends the launcher, and removes its group. Resolves when nothing is left of earlier ones either. */
  async close(): Promise<void> {
    const prepared = this.#prepared
    this.#prepared = undefined
    this.#closing = Promise.all([this.#closing, prepared?.close()])
    await this.#closing
  }
}

/** Milliseconds in which the Edge that started the holder connects. */
const FIRST_WITHIN = 30_000
/** Longest wait between two looks at the clock, which an operator or a suspended machine may move. */
const LONGEST_WAIT = 30_000

const unknown: Survivors = { pids: [], certain: false }

export interface RunHolderOptions {
  /** Folder of stored output. */
  readonly folder: string
  readonly key: Buffer
  readonly build: string
  /** Ends the acceptance of connections. */
  readonly server: { readonly close: () => void }
  /** Unix time in milliseconds. */
  readonly now: () => number
  /** Removes what belongs to the holder, and ends the process. */
  readonly exit: () => void
  /** Records what an operator has to look at. */
  readonly report: (problem: string) => void
}

export class RunHolder implements HolderRegistry, HeldRunListener {
  readonly key: Buffer
  readonly build: string
  readonly now: () => number
  readonly #options: RunHolderOptions
  readonly #runs = new Map<string, HeldRun>()
  readonly #connections = new Set<HolderConnection>()
  readonly #launchers = new Launchers()
  readonly #searches: Array<{
    readonly target: MarkedProcesses
    readonly resolve: (found: Survivors) => void
  }> = []
  #control: HolderConnection | undefined
  #orphanMs = FIRST_WITHIN
  /** Since when there is no control connection. */
  #aloneSince: number
  #clock: NodeJS.Timeout | undefined
  #hasServed = false
  #isUnwanted = false
  #isEnding = false

  constructor(options: RunHolderOptions) {
    this.#options = options
    this.key = options.key
    this.build = options.build
    this.now = options.now
    this.#aloneSince = options.now()
    this.#watchClock()
  }

  control(connection: HolderConnection, { orphanMs }: Omit<HolderHello, "key">): void {
    if (this.#isEnding) return connection.refuse("the holder is ending")
    this.#hasServed = true
    const replaced = this.#control
    this.#control = connection
    // Connections of the Edge before. It is gone: a home has one Edge.
    replaced?.destroy()
    for (const each of this.#connections) each.destroy()
    this.#connections.clear()
    this.#orphanMs = orphanMs
    clearTimeout(this.#clock)
    const runs = [...this.#runs.values()].map(({ summary }) => summary)
    connection.send(
      jsonFrame(frameTypes.welcome, { format: HOLDER_FORMAT, build: this.build, pid: process.pid, runs })
    )
  }

  open(
    connection: HolderConnection,
    id: string,
    groups: string | undefined
  ): { readonly run: HeldRun; readonly isNew: boolean } | undefined {
    if (this.#control === undefined || this.#isEnding) return undefined
    this.#connections.add(connection)
    const existing = this.#runs.get(id)
    if (existing !== undefined) return { run: existing, isNew: false }
    const launcher = groups === undefined ? undefined : this.#launchers.take(groups)
    const run = new HeldRun(id, { folder: this.#options.folder, launcher, listener: this })
    this.#runs.set(id, run)
    return { run, isNew: true }
  }

  endRun(run: HeldRun): void {
    if (!run.hasLeader) return this.#forget(run)
    void this.#kill(run).then(() => this.#forget(run))
  }

  endWhenIdle(): void {
    this.#isUnwanted = true
    if (this.#runs.size === 0) this.#exit()
  }

  closed(connection: HolderConnection): void {
    this.#connections.delete(connection)
    if (this.#control !== connection) return
    this.#control = undefined
    void this.#launchers.close()
    this.#aloneSince = this.now()
    for (const each of this.#connections) each.destroy()
    for (const run of this.#runs.values()) {
      this.onIncomplete(run)
      // Its Edge may have died before it swept.
      if (run.summary.hasEnded) this.onEnded(run)
    }
    this.#watchClock()
  }

  /** Ends all runs, then the holder. */
  async endAll(): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    clearTimeout(this.#clock)
    this.#options.server.close()
    const runs = [...this.#runs.values()]
    // All of them first, because the searches of many runs take their time.
    for (const { target } of runs) {
      for (const group of target?.groups ?? []) killGroup(group)
      if (target?.leader !== undefined) signalGroup(target.leader, "SIGKILL")
    }
    await Promise.all(runs.map((run) => this.#kill(run).then(() => run.delete())))
    await this.#launchers.close()
    this.#options.exit()
  }

  /** Kills all processes of a run. */
  async #kill({ target }: HeldRun): Promise<void> {
    if (target === undefined) return
    const steps = sweepTarget(target)
    let found: Survivors | undefined
    for (;;) {
      const { done, value } = steps.next(found)
      found = undefined
      if (done === true) return
      if (value._tag === "Search") found = await this.#find(value.target)
      else if (value._tag === "Pause") await sleep(value.millis)
      else this.#options.report(`${value.message} ${JSON.stringify(value.details)}`)
    }
  }

  /** One search for the runs that end at the same time. On this thread: without an Edge, nothing waits for it. */
  #find(target: MarkedProcesses): Promise<Survivors> {
    return new Promise((resolve) => {
      if (this.#searches.push({ target, resolve }) > 1) return
      setImmediate(() => {
        const searches = this.#searches.splice(0)
        const found = findAllSurvivors(searches.map((search) => search.target))
        for (const [at, search] of searches.entries()) search.resolve(found[at] ?? unknown)
      })
    })
  }

  #forget(run: HeldRun): void {
    const deleted = run.delete()
    this.#runs.delete(run.id)
    if (this.#runs.size === 0 && (this.#isUnwanted || this.#control === undefined))
      void deleted.then(() => this.#exit())
  }

  #exit(): void {
    this.#isEnding = true
    clearTimeout(this.#clock)
    this.#options.server.close()
    void this.#launchers.close().then(this.#options.exit)
  }

  /** Ends a run that no later Edge can continue, if there is no Edge now. */
  onIncomplete(run: HeldRun): void {
    if (this.#control !== undefined || !run.isLost) return
    run.endBy("output")
    void this.#kill(run)
  }

  /** Kills what a run has left behind, unless its Edge does. */
  onEnded(run: HeldRun): void {
    if (this.#control === undefined && !this.#isEnding) void this.#kill(run)
  }

  readonly #watchClock = (): void => {
    if (this.#control !== undefined || this.#isEnding) return
    clearTimeout(this.#clock)
    if (this.#runs.size === 0 && this.#hasServed) return this.#exit()
    const now = this.now()
    let next = this.#aloneSince + this.#orphanMs
    if (next <= now) return void this.endAll()
    for (const run of this.#runs.values()) {
      const time = run.nextTime()
      if (time === undefined) continue
      if (time.at > now) next = Math.min(next, time.at)
      else {
        run.endBy(time.by)
        void this.#kill(run)
      }
    }
    this.#clock = setTimeout(this.#watchClock, Math.min(next - now, LONGEST_WAIT))
  }
}
