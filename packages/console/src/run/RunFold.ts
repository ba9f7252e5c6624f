/**
 * The fold of a run's events into blocks: incremental, each event in constant time, and the same whatever pieces the events come in.
 *
 * Passes over what it has seen (`seq`, `id`) and marks what is missing. Blocks are values: one that changes is replaced, so that drawing may
 * compare them. Bounded: texts by `Kept`, all texts together by `TEXTS_KEPT`, blocks by `BLOCKS_KEPT`; the oldest are cut first.
 */
import type { Envelope, RunEvent } from "@corral/domain/run/RunEvent"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { approvalResolution } from "@corral/domain/run/Resolution"
import type { Block, Kept, MessageBlock } from "./Block.ts"
import { excerpt, grown, keep } from "./kept.ts"
import { knownEvent } from "./knownEvent.ts"

/** Characters of all blocks together. */
export const TEXTS_KEPT = 16_777_216
export const BLOCKS_KEPT = 100_000
/** What no build like this knows, for whoever looks into it. */
const UNKNOWN_KEPT = 200
const IDS_KEPT = 2_048

export class RunFold {
  /** In the order of the events that began them. */
  readonly blocks: Array<Block> = []
  /** How many of the first blocks are not kept any more. */
  dropped = 0
  lastSeq = 0
  state: HubRunStatus | undefined
  /** Events that were passed over because this build does not know them. */
  unknown = 0
  readonly unknownEvents: Array<Envelope> = []
  /** What waits for a decision. */
  readonly pending = new Set<string>()

  /** Pending approvals by the call that waits for them. */
  private readonly waiting = new Map<string, string>()
  /** The last warning, which the end of the run may repeat. */
  private warned: string | undefined
  private readonly places = new Map<string, number>()
  private readonly ids = new Set<string>()
  private texts = 0
  private cut = 0

  /** Takes the events that are new; says whether there were any. */
  take(events: ReadonlyArray<Envelope>): boolean {
    const before = this.lastSeq
    for (const event of events) this.one(event)
    return this.lastSeq !== before
  }

  /** Events up to `to` are not to be had any more. */
  missing(to: number, at: string): void {
    if (to <= this.lastSeq) return
    this.push({ kind: "gap", seq: this.lastSeq + 1, at, from: this.lastSeq + 1, to })
    this.lastSeq = to
  }

  private one(envelope: Envelope): void {
    const { createdAt, id, seq } = envelope
    if (seq <= this.lastSeq || this.ids.has(id)) return
    if (seq > this.lastSeq + 1) this.missing(seq - 1, createdAt)
    this.lastSeq = seq
    this.ids.add(id)
    const [oldest] = this.ids.size > IDS_KEPT ? this.ids : []
    if (oldest !== undefined) this.ids.delete(oldest)
    this.known(envelope)
  }

  private known(envelope: Envelope): void {
    const event = knownEvent(envelope)
    if (event === undefined) {
      this.unknown++
      if (this.unknownEvents.length < UNKNOWN_KEPT) this.unknownEvents.push(envelope)
      return
    }
    this.event(event)
    if (this.texts > TEXTS_KEPT || this.blocks.length > BLOCKS_KEPT) this.shrink()
  }

  private event(event: RunEvent): void {
    const { createdAt: at, seq } = event
    switch (event.type) {
      case "run.created": {
        this.state = "created"
        const { text } = event.payload.input
        return this.push({ ...message(seq, at, "", "user", "text", keep(text, seq)), partial: false })
      }
      case "run.started": {
        this.state = "running"
        const { model, projectSettings, runtimeVersion: version } = event.payload
        return this.push({ kind: "start", seq, at, model, version, projectSettings })
      }
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
        return this.ended(event)
      case "run.message.delta": {
        const { channel, messageId, text } = event.payload
        const name = `m ${channel} ${messageId}`
        const found = this.at(name, "message")
        if (found?.partial === true) this.put(name, { ...found, body: grown(found.body, text, seq) })
        else this.push(message(seq, at, messageId, "assistant", channel, keep(text, seq)), name)
        return
      }
      case "run.message.completed": {
        const { channel, messageId, role, text, totalBytes } = event.payload
        const name = `m ${channel} ${messageId}`
        const found = this.at(name, "message")
        const body = keep(text, seq, Math.max(text.length, totalBytes ?? 0))
        if (found?.partial === true) this.put(name, { ...found, role, body, partial: false })
        else this.push({ ...message(seq, at, messageId, role, channel, body), partial: false }, name)
        return
      }
      case "run.tool.call": {
        const { callId, input, label, tool } = event.payload
        const started = { status: "started", output: undefined, exitCode: undefined } as const
        const ended = { artifactId: undefined, endedAt: undefined, allowedInput: undefined }
        const isWaiting = this.waiting.has(callId)
        const given = input === undefined ? undefined : keep(JSON.stringify(input, null, 2) ?? "", seq)
        const named = { callId, tool, label: label.slice(0, LABEL) }
        return this.push(
          { kind: "tool", seq, at, ...named, input: given, isWaiting, ...started, ...ended },
          `c ${callId}`
        )
      }
      case "run.tool.result": {
        const { artifactId, callId, exitCode, output, status, tool, totalBytes } = event.payload
        const kept =
          output === undefined ? undefined : keep(output, seq, Math.max(output.length, totalBytes ?? 0))
        const result = { status, output: kept, exitCode, artifactId, endedAt: at, isWaiting: false }
        const found = this.at(`c ${callId}`, "tool")
        if (found !== undefined) return this.put(`c ${callId}`, { ...found, ...result })
        const unknown = { label: tool, input: undefined, allowedInput: undefined }
        return this.push({ kind: "tool", seq, at, callId, tool, ...unknown, ...result }, `c ${callId}`)
      }
      case "run.file.read":
        return this.push({
          kind: "file",
          seq,
          at,
          path: event.payload.path,
          fromPath: undefined,
          change: "read"
        })
      case "run.file.changed": {
        const { change, fromPath, path } = event.payload
        return this.push({ kind: "file", seq, at, path, fromPath, change })
      }
      case "run.diff.ready": {
        const { additions, deletions, files } = event.payload
        return this.push({ kind: "diff", seq, at, files, additions, deletions })
      }
      case "run.patch.proposed": {
        const { patch, path, totalBytes } = event.payload
        const kept = keep(patch, seq, Math.max(patch.length, totalBytes ?? 0))
        return this.push({ kind: "patch", seq, at, path, patch: kept })
      }
      case "run.artifact.ready": {
        const { artifactId, mediaType, name, size } = event.payload
        return this.push({ kind: "artifact", seq, at, artifactId, name, mediaType, size })
      }
      case "run.preview.ready": {
        const { expiresAt, previewId, title } = event.payload
        return this.push({ kind: "preview", seq, at, previewId, title, expiresAt })
      }
      case "run.approval.requested": {
        const { approvalId, expiresAt, request } = event.payload
        this.pending.add(approvalId)
        this.state = "waiting_approval"
        if (request.callId !== undefined) this.await(request.callId, approvalId)
        const open = { state: "pending", resolution: undefined } as const
        return this.push(
          { kind: "approval", seq, at, approvalId, request, expiresAt, ...open },
          `a ${approvalId}`
        )
      }
      case "run.approval.resolved": {
        const { approvalId, state } = event.payload
        this.pending.delete(approvalId)
        if (this.pending.size === 0) this.state = "running"
        const found = this.at(`a ${approvalId}`, "approval")
        if (found === undefined) return
        const resolution = approvalResolution(event.payload, at)
        this.put(`a ${approvalId}`, { ...found, state, resolution })
        const { callId } = found.request
        if (callId !== undefined && this.waiting.get(callId) === approvalId)
          this.decided(callId, resolution.allowedInput, seq)
        return
      }
      case "runtime.unavailable":
        return this.warn(seq, at, event.type, event.payload.message)
      case "runtime.retrying": {
        if (this.blocks.at(-1)?.kind === "retry") this.blocks.pop()
        return this.push({ kind: "retry", seq, at, retry: event.payload })
      }
      case "runtime.timeout": {
        const { afterMs, kind } = event.payload
        return this.warn(seq, at, event.type, `${kind} ${Math.round(afterMs / 1000)} s`)
      }
      case "schema.validation_failed":
        return this.warn(seq, at, event.type, event.payload.message)
      case "integration.message.received":
      case "integration.card.action":
      case "identity.binding.required":
        // Of chats, not of what the run did.
        return
    }
  }

  private await(callId: string, approvalId: string): void {
    this.waiting.set(callId, approvalId)
    const call = this.at(`c ${callId}`, "tool")
    if (call?.status === "started") this.put(`c ${callId}`, { ...call, isWaiting: true })
  }

  /** The call no longer waits; with an edited input it runs that one. */
  private decided(callId: string, allowed: unknown, seq: number): void {
    this.waiting.delete(callId)
    const call = this.at(`c ${callId}`, "tool")
    if (call === undefined) return
    const allowedInput =
      allowed === undefined ? call.allowedInput : keep(JSON.stringify(allowed, null, 2) ?? "", seq)
    this.put(`c ${callId}`, { ...call, isWaiting: false, allowedInput })
  }

  /** A warning, under one name: the end of the run replaces the last one where it says the same. */
  private warn(seq: number, at: string, code: string, message: string): void {
    this.warned = message
    this.push({ kind: "warning", seq, at, code, message, isRepeated: false }, "warning")
  }

  private ended(event: Extract<RunEvent, { type: "run.completed" | "run.failed" | "run.cancelled" }>): void {
    const { createdAt: at, seq } = event
    this.pending.clear()
    const said = event.type === "run.failed" ? event.payload.error : undefined
    const last =
      said === undefined || said.message !== this.warned ? undefined : this.at("warning", "warning")
    if (last !== undefined) this.put("warning", { ...last, isRepeated: true })
    const { by, reason } = event.type === "run.cancelled" ? event.payload : {}
    this.state =
      event.type === "run.completed" ? "completed" : event.type === "run.failed" ? "failed" : "cancelled"
    const { usage } = event.payload
    this.push({ kind: "end", seq, at, state: this.state, error: said, reason, by, usage })
  }

  private at<K extends Block["kind"]>(name: string, kind: K): Extract<Block, { kind: K }> | undefined {
    const place = this.places.get(name)
    const found = place === undefined ? undefined : this.blocks[place - this.dropped]
    return found?.kind === kind ? (found as Extract<Block, { kind: K }>) : undefined
  }

  private push(block: Block, name?: string): void {
    if (name !== undefined) this.places.set(name, this.dropped + this.blocks.length)
    this.blocks.push(block)
    this.texts += weigh(block)
  }

  private put(name: string, block: Block): void {
    const place = this.places.get(name)
    if (place === undefined) return
    const before = this.blocks[place - this.dropped]
    this.texts += weigh(block) - (before === undefined ? 0 : weigh(before))
    this.blocks[place - this.dropped] = block
  }

  /** Makes room from the oldest on; what waits for a person, and the last blocks, stay whole. */
  private shrink(): void {
    if (this.blocks.length > BLOCKS_KEPT) {
      const gone = BLOCKS_KEPT / 10
      for (const block of this.blocks.splice(0, gone)) this.texts -= weigh(block)
      this.dropped += gone
      this.cut = Math.max(0, this.cut - gone)
      for (const [name, place] of this.places) if (place < this.dropped) this.places.delete(name)
    }
    while (this.texts > TEXTS_KEPT * 0.9 && this.cut < this.blocks.length - 1) {
      const block = this.blocks[this.cut]
      if (block !== undefined) {
        const small = excerpted(block)
        this.texts += weigh(small) - weigh(block)
        this.blocks[this.cut] = small
      }
      this.cut++
    }
  }
}

const LABEL = 4_096

const message = (
  seq: number,
  at: string,
  messageId: string,
  role: MessageBlock["role"],
  channel: MessageBlock["channel"],
  body: Kept
): MessageBlock => ({ kind: "message", seq, at, messageId, role, channel, body, partial: true })

/** Characters that it holds, roughly. */
const weigh = (block: Block): number => {
  switch (block.kind) {
    case "message":
      return block.body.text.length
    case "tool":
      return [block.input, block.allowedInput, block.output].reduce(
        (size, kept) => size + (kept?.text.length ?? 0),
        0
      )
    case "patch":
      return block.patch.text.length
    case "approval":
      return (block.request.patch?.length ?? 0) + (block.request.command?.length ?? 0) * 2
    default:
      return 0
  }
}

const excerpted = (block: Block): Block => {
  switch (block.kind) {
    case "message":
      return { ...block, body: excerpt(block.body) }
    case "tool":
      return {
        ...block,
        input: block.input && excerpt(block.input),
        allowedInput: block.allowedInput && excerpt(block.allowedInput),
        output: block.output && excerpt(block.output)
      }
    case "patch":
      return { ...block, patch: excerpt(block.patch) }
    case "approval": {
      if (block.state === "pending") return block
      const { action, editable, risk, scopes, title } = block.request
      const request = { action, editable, risk, scopes, title }
      if (block.resolution === undefined) return { ...block, request }
      const { allowedInput: _, ...resolution } = block.resolution
      return { ...block, request, resolution }
    }
    default:
      return block
  }
}
