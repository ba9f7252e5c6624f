/**
 * A real program behind a real Edge, with the fake model server as its only world.
 */
import type { ApprovalRequest, Decision } from "@corral/domain/approval/Approval"
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunId } from "@corral/domain/identity/Ids"
import type { CreateRun, RunMode } from "@corral/domain/run/Run"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { assert, onTestFailed } from "@effect/vitest"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  watch,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { codeOf, type EventReader } from "@corral/testing/edge/EdgeClient"
import { type EdgeOptions, EdgeProcess, giveTo } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { within } from "@corral/testing/time/Until"
import { changesBetween, filesIn } from "./ChangedFiles.ts"
import type { DrivenConfinement } from "./Confinements.ts"
import { FakeModels } from "./FakeModels.ts"
import { environmentOf, type Installed } from "./Installation.ts"
import { OLD } from "./Script.ts"

/** Longer than the shortest wait of a program that wakes up by itself. */
const PATIENCE_MS = 150_000
/** What every workspace begins with. */
export const README = `# Demo\n\n${OLD}\n`

/** A run that has ended. */
export interface Played {
  readonly runId: RunId
  readonly events: ReadonlyArray<Envelope>
  readonly end: Envelope
  /** What a person was asked, in order. */
  readonly requests: ReadonlyArray<ApprovalRequest>
  /** What the agent asked a person to know, in order. */
  readonly questions: ReadonlyArray<RequestedInput>
  /** What the model was asked. */
  readonly modelRequests: ReadonlyArray<string>
  /** Files that are different after the run, with their content. */
  readonly changes: Readonly<Record<string, string | undefined>>
  /** Paths of the run's diff. */
  readonly diff: ReadonlyArray<string>
}

/** The user without rights of every Linux system, and its group. */
const ORDINARY_USER = 65_534

/** A run that is followed. */
export interface BegunRun {
  readonly runId: RunId
  readonly reader: EventReader
}

export interface StageOptions {
  readonly grants?: EdgeOptions["grants"] & {}
  /** Setting of the Edge, and what its runs have to say about it. */
  readonly confinement?: DrivenConfinement
  /** Model of the runs that name none; by default that of the program's settings. */
  readonly model?: string
  /** Certificate of the model server, for TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string }
  /** Further variables of the Edge, by the address of the model server. */
  readonly env?: (models: string) => Readonly<Record<string, string>>
  /** Before the Edge is started. `home`: of the program. */
  readonly prepare?: (edge: EdgeProcess, home: string) => unknown
}

interface StageParts {
  readonly agentId: string
  readonly confinement: DrivenConfinement | undefined
  readonly home: string
  readonly models: FakeModels
  readonly model: string | undefined
  /** The user of the Edge, if it is not this one. */
  readonly user: number | undefined
}

/** Which run a prompt continues, with which model, or where a new conversation works. `agentId`: another agent than that of the stage. */
type Next = Pick<CreateRun, "resume" | "model" | "isolation" | "groupId" | "checks"> & {
  readonly agentId?: string
}

/** What a person decides on an action. */
type Decide = (request: ApprovalRequest) => Decision
/** What a person answers to a question. */
type AnswerQuestion = (request: RequestedInput) => InputAnswer
const decline: AnswerQuestion = () => ({ decline: true })

export class Stage {
  readonly edge: EdgeProcess
  private readonly models: FakeModels
  private readonly agentId: string
  private readonly home: string
  private readonly confinement: DrivenConfinement | undefined
  private readonly user: number | undefined
  private readonly model: string | undefined

  static async open(
    installed: Installed,
    agentId: string,
    key: string,
    {
      certificate,
      confinement,
      env: more = () => ({}),
      grants = [],
      model,
      prepare = () => undefined
    }: StageOptions = {}
  ): Promise<Stage> {
    const models = new FakeModels(certificate)
    await models.start()
    const home = mkdtempSync(join(realpathSync(tmpdir()), "corral-home-"))
    const env = {
      ...environmentOf(installed, { home, models: models.url, key }),
      ...(confinement === undefined ? {} : { CORRAL_EDGE_CONFINEMENT: confinement }),
      ...more(models.url)
    }
    const user =
      installed.program.refusesRoot === true && process.getuid?.() === 0 ? ORDINARY_USER : undefined
    const stage = new Stage({ models, home, agentId, confinement, model, user }, { env, grants })
    try {
      await prepare(stage.edge, home)
      stage.give(home, stage.edge.workspace)
      await stage.edge.start()
    } catch (cause) {
      await stage.close()
      throw cause
    }
    return stage
  }

  private constructor({ agentId, confinement, home, model, models, user }: StageParts, options: EdgeOptions) {
    this.models = models
    this.agentId = agentId
    this.home = home
    this.confinement = confinement
    this.user = user
    this.model = model
    this.edge = new EdgeProcess({ ...options, ...(user === undefined ? {} : { user }) })
    models.workspace = this.edge.workspace
    writeFileSync(join(this.edge.workspace, "README.md"), README)
  }

  async close(): Promise<void> {
    await this.edge.remove()
    this.models.stop()
    rmSync(this.home, { recursive: true, force: true })
  }

  /** Holds answers of the model, as `FakeModels.holdAnswers`. */
  holdAnswers(...how: Parameters<FakeModels["holdAnswers"]>): ReturnType<FakeModels["holdAnswers"]> {
    return this.models.holdAnswers(...how)
  }

  /** Steps that no tool of the program could do, so far. */
  get impossibleSteps(): ReadonlyArray<string> {
    return this.models.impossible
  }

  /** Outputs of the program that its adapter does not know, so far. */
  async unknownOutputs(): Promise<ReadonlyArray<string>> {
    const { body } = await this.edge.client.ask("GET", "/v1/health")
    const { runtimes = [] } = Object(body) as { readonly runtimes?: ReadonlyArray<unknown> }
    return runtimes.flatMap((runtime) => {
      const { drift, id } = Object(runtime) as {
        readonly id?: string
        readonly drift?: { readonly kinds: ReadonlyArray<{ readonly what: string; readonly count: number }> }
      }
      return id === this.agentId ? (drift?.kinds ?? []).map(({ count, what }) => `${what} (${count})`) : []
    })
  }

  /** What the model has answered so far. */
  get answers(): FakeModels["answers"] {
    return this.models.answers
  }

  /** What the model was asked so far. */
  get modelRequests(): ReadonlyArray<string> {
    return this.models.requests
  }

  /** Deletes a folder of the home that the program runs with, and the databases of its confined runs. */
  forget(folder: string): void {
    const paths = [join(this.home, folder.replace(/^~\//, "")), join(this.edge.home, "databases")]
    assert.isTrue(paths.some(existsSync), `${folder} is where the program keeps it`)
    for (const path of paths) rmSync(path, { recursive: true, force: true })
  }

  /** Writes a file of the workspace. */
  write(name: string, content: string): void {
    const path = join(this.edge.workspace, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    this.give(this.edge.workspace)
  }

  /** Makes the user of the Edge the owner of what the test has written. */
  private give(...paths: ReadonlyArray<string>): void {
    if (this.user !== undefined) for (const path of paths) giveTo(this.user, path)
  }

  file(name: string): string {
    return readFileSync(join(this.edge.workspace, name), "utf8")
  }

  /** Plays a prompt to its end; a person decides every question so. */
  async play(
    prompt: string,
    decision: Decide,
    mode: RunMode = "ask",
    next: Next = {},
    answer: AnswerQuestion = decline
  ): Promise<Played> {
    const impossible = this.models.impossible.length
    const played = await this.record(async () =>
      this.end(await this.begin(prompt, mode, next), decision, mode, answer)
    )
    // Where nothing may change, not every step is offered a tool.
    if (mode === "ask") assert.deepStrictEqual(this.models.impossible.slice(impossible), [])
    return played
  }

  /** Plays a prompt to its end, also if the program offers its model no tool for a step. */
  playAll(
    prompt: string,
    decision: Decide,
    mode: RunMode,
    answer?: AnswerQuestion,
    next: Next = {}
  ): Promise<Played> {
    return this.record(async () => this.end(await this.begin(prompt, mode, next), decision, mode, answer))
  }

  /** Plays a prompt until this file is there, and finishes the run, which works in the background. */
  playAndFinish(prompt: string, name: string, mode: RunMode): Promise<Played> {
    return this.record(async () => {
      const run = await this.playUntil(prompt, name, mode)
      await run.reader.event(({ type }) => type === "run.turn.ended", PATIENCE_MS)
      const answer = await this.edge.client.ask("POST", `/v1/runs/${run.runId}/finish`)
      assert.strictEqual(answer.status, 200, answer.text)
      return this.end(run, () => "allow", mode)
    })
  }

  /** Adds to a run what the model was asked for it, and what changed in the workspace. */
  private async record(
    play: () => Promise<Omit<Played, "changes" | "diff" | "modelRequests">>
  ): Promise<Played> {
    const { requests } = this.models
    const before = requests.length
    const files = filesIn(this.edge.workspace)
    const played = await play()
    return {
      ...played,
      modelRequests: requests.slice(before),
      changes: changesBetween(files, filesIn(this.edge.workspace)),
      diff: await this.diffOf(played.runId)
    }
  }

  private async diffOf(runId: RunId): Promise<ReadonlyArray<string>> {
    const { body, text } = await this.edge.client.ask("GET", `/v1/runs/${runId}/diff?limit=100`)
    const { items } = Object(body) as { readonly items?: ReadonlyArray<{ readonly path: string }> }
    assert.isDefined(items, text)
    return (items ?? []).map(({ path }) => path)
  }

  /** Decides the questions of a run until it has ended. */
  async end(
    { reader, runId }: BegunRun,
    decision: Decide,
    mode: RunMode,
    answer: AnswerQuestion = decline
  ): Promise<Omit<Played, "changes" | "diff" | "modelRequests">> {
    const requests: Array<ApprovalRequest> = []
    const questions: Array<RequestedInput> = []
    const end = await this.decide(
      runId,
      reader,
      (request) => {
        requests.push(request)
        return decision(request)
      },
      (request) => {
        questions.push(request)
        return answer(request)
      }
    )
    await reader.ended
    assertWhole(reader.events)
    this.assertConfined(reader.events, mode)
    assert.deepStrictEqual(this.edge.survivorsOf(runId), [], "alive after the run's end")
    return { runId, events: reader.events, end, requests, questions }
  }

  /** Plays a prompt until this file is there, and gives the run that is at it. Every question is allowed. */
  async playUntil(prompt: string, name: string, mode: RunMode = "ask"): Promise<BegunRun> {
    const path = join(this.edge.workspace, name)
    const watching = new AbortController()
    const there = new Promise<void>((resolve) => {
      const look = () => existsSync(path) && resolve()
      watch(this.edge.workspace, { signal: watching.signal }, look)
      look()
    })
    try {
      return await this.playWhile(prompt, there, `the file ${name}`, mode)
    } finally {
      watching.abort()
    }
  }

  /** Plays a prompt until `reached` settles. Every question is allowed. */
  async playWhile(prompt: string, reached: Promise<void>, what: string, mode: RunMode): Promise<BegunRun> {
    const { reader, runId } = await this.begin(prompt, mode)
    // Ends with the reader, whether it is reached or not.
    const ended = this.decide(runId, reader, () => "allow")
    const first = await within(Promise.race([reached, ended]), PATIENCE_MS, what)
    if (first !== undefined) assert.fail(`the run ended before: ${JSON.stringify(first)}`)
    return { runId, reader }
  }

  /** Starts a run. */
  async begin(prompt: string, mode: RunMode = "ask", next: Next = {}): Promise<BegunRun> {
    const model = this.model === undefined ? {} : { model: this.model }
    const { id } = await this.edge.client.create(prompt, mode, { agentId: this.agentId, ...model, ...next })
    return this.follow(id)
  }

  /** Reads a run from its first event on. */
  async follow(runId: RunId): Promise<BegunRun> {
    const reader = await this.edge.client.follow({ runId })
    onTestFailed(() => console.log(reader.frames.join("\n")))
    return { runId, reader }
  }

  /** The first question about an action of the agent that a person decides. */
  async question({ reader }: BegunRun): Promise<string> {
    const event = await reader.event(
      (event) => isQuestion(event) && !isConnection(event.payload["request"] as ApprovalRequest),
      PATIENCE_MS
    )
    return approvalOf(event)
  }

  /** Answers a question as a person does. */
  async answer(runId: string, inputId: string, answer: InputAnswer): Promise<void> {
    const body = { runId, inputId, ...answer }
    const answered = await this.edge.client.ask("POST", "/v1/inputs/answer", { body })
    assert.strictEqual(answered.status, 200, answered.text)
  }

  private assertConfined(events: ReadonlyArray<Envelope>, mode: RunMode): void {
    if (this.confinement === undefined) return
    const created = events.find(({ type }) => type === "run.created")?.payload["confinement"]
    const { kind = "none" } = (created ?? {}) as { readonly kind?: string }
    const isConfined = this.confinement === "required" && mode !== "full_access"
    assert.strictEqual(kind, isConfined ? "bubblewrap" : "none")
  }

  /** Decides actions and answers questions until the run has ended. */
  private async decide(
    runId: string,
    reader: EventReader,
    decision: Decide,
    respond: AnswerQuestion = decline
  ): Promise<Envelope> {
    const decided = new Set<string>()
    for (;;) {
      const next = await reader.event(
        (event) =>
          isTerminalType(event.type) ||
          (isQuestion(event) && !decided.has(approvalOf(event))) ||
          (isInput(event) && !decided.has(inputOf(event))),
        PATIENCE_MS
      )
      if (isTerminalType(next.type)) return next
      if (isInput(next)) {
        decided.add(inputOf(next))
        // The log's schema is judged when the run has ended.
        const request = next.payload["request"] as RequestedInput
        await this.answer(runId, inputOf(next), respond(request))
        continue
      }
      decided.add(approvalOf(next))
      // The log's schema is judged when the run has ended.
      const request = next.payload["request"] as ApprovalRequest
      const answer = await this.edge.client.decide(
        runId,
        approvalOf(next),
        isConnection(request) ? "deny" : decision(request)
      )
      // In modes that change nothing, and for what a mode allows, the Edge has decided already.
      if (codeOf(answer) !== "approval_already_resolved") assert.strictEqual(answer.status, 200, answer.text)
    }
  }
}

/** A connection of a confined run, such as one for an update, and not an action of the agent. */
const isConnection = ({ action, tool }: ApprovalRequest): boolean =>
  action === "network" && tool === undefined
const isQuestion = ({ type }: Envelope): boolean => type === "run.approval.requested"
const isInput = ({ type }: Envelope): boolean => type === "run.input.requested"
const inputOf = ({ payload }: Envelope): string => String(payload["inputId"])
const approvalOf = ({ payload }: Envelope): string => String(payload["approvalId"])
