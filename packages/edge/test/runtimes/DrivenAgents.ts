/** Real programs behind an Edge that play acts, and the report of what happened: by agent, setting of the confinement and mode. */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { execFileSync } from "node:child_process"
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { type DrivenConfinement, withConfinements } from "./Confinements.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import type { Installed } from "./Installation.ts"
import { type Act, promptFor } from "./Script.ts"
import { type Played, Stage, type StageOptions } from "./Stage.ts"
import { changingModes, installSubjects, type Subject } from "./Subjects.ts"

type Prepare = NonNullable<StageOptions["prepare"]>

/** Makes a folder a repository, as most workspaces are. */
const initializeRepository = (folder: string): void => {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    [...identity, "commit", "-qm", "Begin"]
  ])
    // The folder may be another user's.
    execFileSync("git", ["-C", folder, "-c", "safe.directory=*", ...args])
}

const allow = () => "allow" as const

/** How a run ended, in words. */
export const endingOf = ({ end: { payload, type } }: Pick<Played, "end">): string =>
  type === "run.failed" ? `${type}: ${JSON.stringify(payload["error"])}` : type

/** Payloads of one type of event. */
export const payloadsOf = (
  events: ReadonlyArray<Envelope>,
  type: Envelope["type"]
): ReadonlyArray<Envelope["payload"]> =>
  events.filter((event) => event.type === type).map(({ payload }) => payload)

export class DrivenAgent {
  readonly agentId: string
  readonly adapter: RuntimeAdapter
  readonly place: Installed
  /** Modes in which it may change files. */
  readonly modes: ReadonlyArray<RunMode>
  readonly #confinement: DrivenConfinement
  readonly #model: string | undefined
  readonly #report: Array<string>
  readonly #impossible = new Set<Act>()
  #stage: Stage | undefined

  constructor({ adapter, agentId, confinement, model, place }: DrivenSubject, report: Array<string>) {
    this.agentId = agentId
    this.adapter = adapter
    this.place = place
    this.#confinement = confinement
    this.#model = model
    this.#report = report
    const confined: RunMode = adapter.capabilities.approvals ? "ask" : "auto_edit"
    this.modes = confinement === "required" ? [confined] : changingModes(adapter)
  }

  /** `prepare`: before the Edge is started. */
  async open(prepare: Prepare): Promise<void> {
    this.#stage = await Stage.open(this.place, this.agentId, RIGHT_KEY, {
      grants: ["full_access"],
      confinement: this.#confinement,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      prepare: (edge, home) => {
        prepare(edge, home)
        initializeRepository(edge.workspace)
      }
    })
  }

  async close(): Promise<void> {
    const unknown = (await this.#stage?.unknownOutputs()) ?? []
    this.note("unknown outputs", unknown.join(", ") || "none")
    await this.#stage?.close()
  }

  get stage(): Stage {
    if (this.#stage === undefined) throw new Error("the stage is not open")
    return this.#stage
  }

  /** Whether the program offered its model a tool for the act, as far as it was played. */
  offers(act: Act): boolean {
    return !this.#impossible.has(act)
  }

  note(what: string, happened: string): void {
    const { name, version } = this.place.program
    const confined = this.#confinement === "required" ? ", confined" : ""
    const model = this.#model === undefined ? "" : `, ${this.#model}`
    this.#report.push(`${name} ${version}, ${this.agentId}${model}${confined} | ${what} | ${happened}`)
  }

  /** Plays an act; `undefined` if the program offers its model no tool for it. */
  async play(
    act: Act,
    subject: string,
    mode: RunMode,
    answer?: Parameters<Stage["play"]>[4]
  ): Promise<Played | undefined> {
    const before = this.stage.impossibleSteps.length
    const played = await this.stage.playAll(promptFor(act, subject), allow, mode, answer)
    const impossible = this.stage.impossibleSteps.slice(before)
    if (impossible.length === 0) return played
    this.#impossible.add(act)
    this.note(`${act} in ${mode}`, `no tool for ${impossible.join("; ").slice(0, 160)}`)
    return undefined
  }
}

interface DrivenSubject {
  readonly agentId: string
  readonly adapter: RuntimeAdapter
  readonly confinement: DrivenConfinement
  /** `undefined` for the one of its settings. */
  readonly model: string | undefined
  readonly place: Installed
}

/** Only `codex` is driven with another model: what its tools do is the same in every adapter of a program. */
const modelsOf = ({ adapter, place }: Subject): ReadonlyArray<string | undefined> => {
  const { agents, furtherModel } = place.program
  const isMain = agents.some(({ id }) => id === adapter.id)
  return furtherModel !== undefined && isMain ? [undefined, furtherModel] : [undefined]
}

/** Defines tests for each program that runs here, and prints the report. `prepare`: before an Edge is started. */
export const driveEach = async (
  define: (agent: DrivenAgent) => void,
  prepare: (agent: DrivenAgent) => Prepare = () => () => undefined
): Promise<void> => {
  const report: Array<string> = []
  afterAll(() => console.log(report.join("\n")))
  const subjects = withConfinements(await installSubjects()).flatMap((subject) =>
    modelsOf(subject).map((model): DrivenSubject => ({ ...subject, model }))
  )
  describe.each(subjects)("$agentId, model $model, confinement $confinement", (subject) => {
    const { missing } = subject.place
    if (missing !== undefined) {
      console.log(`${subject.agentId} is skipped: ${missing}`)
      it.skip(`is driven: ${missing}`)
      return
    }
    const agent = new DrivenAgent(subject, report)
    beforeAll(() => agent.open(prepare(agent)))
    afterAll(() => agent.close())
    define(agent)
  })
}
