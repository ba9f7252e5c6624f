/** A conversation at a Hub through its client library: the console and programs differ in how they authenticate and learn of changes. */
import { assert } from "@effect/vitest"
import type { HubConnection } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import {
  type DeviceId,
  type ProjectId,
  type RunId,
  type SessionId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { Message } from "@corral/domain/session/Message"
import { until, within } from "@corral/testing/time/Until"
import { isInBackground } from "./BackgroundRun.ts"
import type { AgentWork, FaultConversation } from "./FaultProduct.ts"
import { answersIn } from "./ShownAnswers.ts"
import { piecesIn, promptOf } from "./ScriptedWork.ts"

/** How one kind of client reaches the Hub. */
export interface HubReader {
  readonly hub: HubConnection
  /** Looks again when something may have changed, until something is found. */
  readonly wait: <A>(look: () => Promise<A | undefined>, what: string) => Promise<A>
  /** Events of the run, across lost connections. */
  readonly events: (ids: {
    readonly sessionId: SessionId
    readonly runId: RunId
    readonly signal: AbortSignal
  }) => AsyncGenerator<SequencedEvent>
}

export interface HubPlacement {
  readonly projectId: ProjectId
  readonly deviceId: DeviceId
  readonly workspace: string
}

/** The response, once the Hub responds. A write is repeated with its key. */
const persistently = <A>(
  call: (headers: { readonly "idempotency-key": string }) => Promise<A>,
  what: string
) => {
  const headers = { "idempotency-key": newIdempotencyKey() }
  return until(
    async () => {
      try {
        return { value: await call(headers) }
      } catch (error) {
        if (error instanceof CorralError && (error.isTransient || error.code === "target_offline"))
          return undefined
        throw error
      }
    },
    what,
    30_000
  ).then(({ value }) => value)
}

const PATIENCE_MS = 60_000

export class HubConversation implements FaultConversation {
  private readonly reader: HubReader
  private readonly sessionId: SessionId
  private readonly stopping = new AbortController()
  /** Ends what follows the conversation besides it. */
  onClose: () => Promise<void> = async () => undefined
  outages: (() => number) | undefined
  private last: Message | undefined
  private streamed = ""
  private counted = Promise.withResolvers<void>()
  private following: Promise<void> | undefined

  static async begin(reader: HubReader, { deviceId, projectId, workspace }: HubPlacement, work: AgentWork) {
    const { sessions } = reader.hub
    const { id } = await persistently(
      (headers) => sessions.create({ headers, payload: { projectId, title: "Fault" } }),
      "a session"
    )
    await persistently(
      (headers) =>
        sessions.addAgent({
          params: { id },
          headers,
          payload: {
            agentId: "scripted",
            targetId: deviceId,
            workspace: WorkspaceId.make(workspace),
            mode: "ask"
          }
        }),
      "an agent of the session"
    )
    const conversation = new HubConversation(reader, id)
    await conversation.send(work)
    return conversation
  }

  constructor(reader: HubReader, sessionId: SessionId) {
    this.reader = reader
    this.sessionId = sessionId
  }

  async send(work: AgentWork): Promise<void> {
    this.last = await persistently(
      (headers) =>
        this.reader.hub.sessions.addMessage({
          params: { id: this.sessionId },
          headers,
          payload: { text: promptOf(work), onOffline: "queue" }
        }),
      "the message"
    )
  }

  async answers(count: number): Promise<ReadonlyArray<string>> {
    return this.reader.wait(async () => {
      const texts = answersIn(await this.messages()).map(({ text }) => text)
      return texts.length >= count ? texts : undefined
    }, `${count} answers`)
  }

  async approval(): Promise<void> {
    await this.pendingApproval()
  }

  async allow(): Promise<void> {
    const { id } = await this.pendingApproval()
    await persistently(
      (headers) =>
        this.reader.hub.approvals.decide({
          params: { id },
          headers,
          payload: { decision: "allow", scope: "once" }
        }),
      "the decision"
    )
  }

  async question(): Promise<void> {
    await this.openQuestion()
  }

  async choose(place: number): Promise<void> {
    const { id, questions = [] } = await this.openQuestion()
    const option = questions[0]?.options?.[place - 1]
    assert.isDefined(option)
    const payload = { answers: { [questions[0]?.id ?? ""]: option.id } }
    await persistently(
      (headers) => this.reader.hub.inputs.answer({ params: { id }, headers, payload }),
      "the answer"
    )
  }

  async background(): Promise<void> {
    await this.runWith(isInBackground, "the work in the background")
  }

  async queued(): Promise<void> {
    await this.reader.wait(async () => {
      const delivery = (await this.lastMessage())?.delivery
      return delivery?.state === "pending" ? true : undefined
    }, "the message in the queue")
  }

  /** Counts what the stream of the last run brings. Follows it from the first call on. */
  async pieces(count: number): Promise<number> {
    this.following ??= this.follow()
    const enough = async () => {
      while (piecesIn(this.streamed) < count) await this.counted.promise
    }
    await within(Promise.race([enough(), this.following]), PATIENCE_MS, `${count} pieces`)
    return piecesIn(this.streamed)
  }

  async running(): Promise<void> {
    await this.runWith(({ state }) => state === "running", "the run in progress")
  }

  async cancel(): Promise<void> {
    const { id } = await this.runWith(() => true, "the run")
    await persistently(() => this.reader.hub.runs.cancel({ params: { id } }), "the cancellation")
  }

  async cancelled(): Promise<void> {
    await this.runWith(({ state }) => state === "cancelled", "the cancelled run")
  }

  async failed(message: string): Promise<void> {
    const { error } = await this.runWith(({ state }) => state === "failed", "the failed run")
    assert.include(error?.message, message)
  }

  async close(): Promise<void> {
    this.stopping.abort()
    await this.following
    await this.onClose()
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping
    try {
      const { id: runId } = await this.runWith(() => true, "the run")
      for await (const { decoded } of this.reader.events({ sessionId: this.sessionId, runId, signal })) {
        const { payload, type } = envelopeOf(decoded)
        if (type !== "run.message.delta" || !("text" in payload)) continue
        this.streamed += String(payload.text)
        this.counted.resolve()
        this.counted = Promise.withResolvers()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  private async messages(): Promise<ReadonlyArray<Message>> {
    const { items } = await this.reader.hub.sessions.messages({
      params: { id: this.sessionId },
      query: { limit: 200 }
    })
    return items.toReversed()
  }

  private async lastMessage(): Promise<Message | undefined> {
    return (await this.messages()).find(({ id }) => id === this.last?.id)
  }

  private runWith(isAwaited: (run: HubRun) => boolean, what: string): Promise<HubRun> {
    return this.reader.wait(async () => {
      const id = (await this.lastMessage())?.delivery?.runId
      if (id === undefined) return undefined
      const run = await this.reader.hub.runs.get({ params: { id } })
      return isAwaited(run) ? run : undefined
    }, what)
  }

  private pendingApproval(): Promise<HubApproval> {
    return this.reader.wait(async () => {
      const runId = (await this.lastMessage())?.delivery?.runId
      if (runId === undefined) return undefined
      const { items } = await this.reader.hub.approvals.list({ query: { runId, state: "pending" } })
      return items[0]
    }, "the approval")
  }

  private openQuestion(): Promise<InputRequest> {
    return this.reader.wait(async () => {
      const runId = (await this.lastMessage())?.delivery?.runId
      if (runId === undefined) return undefined
      const { items } = await this.reader.hub.inputs.list({ query: { runId, state: "pending" } })
      return items[0]
    }, "the question")
  }
}
