/**
 * The command line: each message is a `corral say --wait` that runs through the fault, and everything else is a command. The output of a run is
 * followed by `corral attach`.
 */
import { assert } from "@effect/vitest"
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { RunningProgram } from "@corral/testing/process/RunningProgram"
import { until, within } from "@corral/testing/time/Until"
import type { Corral } from "../e2e/Corral.ts"
import { isInBackground } from "./BackgroundRun.ts"
import type { AgentWork, FaultConversation, FaultSurface } from "./FaultProduct.ts"
import { answersIn } from "./ShownAnswers.ts"
import { piecesIn, promptOf } from "./ScriptedWork.ts"

const PATIENCE_MS = 60_000
const CANCELLED = 130

interface SentMessage {
  readonly id: string
  readonly program: RunningProgram
  runId?: string
}

class CliConversation implements FaultConversation {
  private readonly corral: Corral
  private readonly sent: Array<SentMessage> = []
  private readonly completed: Array<string> = []
  private sessionId = ""
  private attached: RunningProgram | undefined

  static async begin(corral: Corral, workspace: string, work: AgentWork): Promise<CliConversation> {
    const conversation = new CliConversation(corral)
    const first = await conversation.start(work, "--new", "--to", "scripted", "--workspace", workspace)
    const [, id = ""] = await first.warned(/session (ses_\w+)/)
    conversation.sessionId = id
    return conversation
  }

  constructor(corral: Corral) {
    this.corral = corral
  }

  async send(work: AgentWork): Promise<void> {
    await this.start(work, "--session", this.sessionId)
  }

  /** As `corral show` lists them. The last one of each run is printed by its command too. */
  async answers(count: number): Promise<ReadonlyArray<string>> {
    const { printed, shown } = await until(
      async () => {
        const shown = answersIn(await this.messages())
        const printed = shown.flatMap(({ outcome, text }) => (outcome === undefined ? [] : [text]))
        return shown.length >= count && this.completed.length >= printed.length
          ? { printed, shown }
          : undefined
      },
      `${count} shown answers, and the printed ones`,
      PATIENCE_MS
    )
    assert.deepStrictEqual(this.completed, printed, "answers that were printed, and that are shown")
    return shown.map(({ text }) => text)
  }

  async approval(): Promise<void> {
    await within(this.last.program.warned(/needs a decision/), PATIENCE_MS, "the approval")
    await this.pendingApproval()
  }

  async allow(): Promise<void> {
    await this.command("approve", await this.pendingApproval())
  }

  async question(): Promise<void> {
    await within(this.last.program.warned(/needs an answer/), PATIENCE_MS, "the question")
    await this.openQuestion()
  }

  async choose(place: number): Promise<void> {
    await this.command("answer", await this.openQuestion(), "--option", String(place))
  }

  async background(): Promise<void> {
    await this.runWith(isInBackground, "the work in the background")
  }

  async queued(): Promise<void> {
    await until(
      async () => {
        const message = (await this.messages()).find(({ id }) => id === this.last.id)
        return message?.delivery?.state === "pending" ? true : undefined
      },
      "the message in the queue",
      PATIENCE_MS
    )
  }

  async pieces(count: number): Promise<number> {
    this.attached ??= this.corral.start("attach", await this.runId(), "--json")
    const { out } = this.attached
    return until(
      async () => {
        const streamed = out
          .map((line) => JSON.parse(line))
          .flatMap(({ payload, type }) => (type === "run.message.delta" ? [payload.text] : []))
        const found = piecesIn(streamed.join(""))
        return found >= count ? found : undefined
      },
      `${count} pieces`,
      PATIENCE_MS
    )
  }

  async running(): Promise<void> {
    await this.runIn("running")
  }

  async cancel(): Promise<void> {
    await this.command("cancel", await this.runId())
  }

  async cancelled(): Promise<void> {
    await this.runIn("cancelled")
    assert.strictEqual(await within(this.last.program.ended, PATIENCE_MS, "the command's end"), CANCELLED)
  }

  async failed(message: string): Promise<void> {
    await this.runIn("failed")
    assert.strictEqual(await within(this.last.program.ended, PATIENCE_MS, "the command's end"), 1)
    assert.include(this.last.program.stderr, message)
  }

  async close(): Promise<void> {
    for (const program of [...this.sent.map((sent) => sent.program), this.attached])
      program?.child.kill("SIGTERM")
  }

  private get last(): SentMessage {
    const last = this.sent.at(-1)
    assert.isDefined(last)
    return last
  }

  private async start(work: AgentWork, ...flags: ReadonlyArray<string>): Promise<RunningProgram> {
    const program = this.corral.start("say", "--wait", ...flags, promptOf(work))
    const [, id = ""] = await within(program.warned(/(msg_\w+)\n/), PATIENCE_MS, "the message's id")
    this.sent.push({ id, program })
    void this.keepAnswer(program)
    return program
  }

  private async keepAnswer(program: RunningProgram): Promise<void> {
    if ((await program.ended) === 0) this.completed.push(program.out.join("\n"))
  }

  /** Output of a command, which is repeated while the Hub or the device can't be reached. */
  private command(...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
    return until(
      async () => {
        const { exit, out, stderr } = await this.corral.run(...args)
        if (exit === 0) return out
        assert.match(stderr, /Can't reach|offline|unavailable/, args.join(" "))
        return undefined
      },
      `corral ${args.join(" ")}`,
      PATIENCE_MS
    )
  }

  private async messages(): Promise<ReadonlyArray<Message>> {
    const [line = ""] = await this.command("show", this.sessionId, "--json")
    return (JSON.parse(line) as { readonly messages: ReadonlyArray<Message> }).messages
  }

  private async runId(): Promise<string> {
    const { last } = this
    last.runId ??= await until(
      async () => (await this.messages()).find(({ id }) => id === last.id)?.delivery?.runId,
      "the run",
      PATIENCE_MS
    )
    return last.runId
  }

  private runIn(state: HubRun["state"]): Promise<void> {
    return this.runWith((run) => run.state === state, `the run ${state}`)
  }

  private async runWith(isAwaited: (run: HubRun) => boolean, what: string): Promise<void> {
    const id = await this.runId()
    await until(
      async () => {
        const [line = ""] = await this.command("show", id, "--json")
        return isAwaited(JSON.parse(line) as HubRun) ? true : undefined
      },
      what,
      PATIENCE_MS
    )
  }

  private pendingApproval(): Promise<string> {
    return this.listed<HubApproval>("approvals")
  }

  private openQuestion(): Promise<string> {
    return this.listed<HubInput>("questions")
  }

  /** What the last run needs of a person, by the command that lists it. */
  private async listed<A extends HubApproval | HubInput>(command: string): Promise<string> {
    const runId = await this.runId()
    return until(
      async () =>
        (await this.command(command, "--json"))
          .map((line) => JSON.parse(line) as A)
          .find((one) => one.runId === runId)?.id,
      `an item of corral ${command}`,
      PATIENCE_MS
    )
  }
}

/** `corral` is signed in to the Hub. */
export const cliSurface = (corral: Corral, workspace: string): FaultSurface => ({
  begin: (work) => CliConversation.begin(corral, workspace, work)
})
