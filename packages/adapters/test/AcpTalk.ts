/** A conversation of the protocol with an agent that a test plays, and everything that was written to the agent. */
import type { EventType, PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { makeAcp } from "../src/Acp.ts"
import type { AcpAgent } from "../src/acp/AcpAgent.ts"

export interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number }
}

export const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }
export const messagesOf = (text: string): ReadonlyArray<Message> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** An agent as the host's protocol meets it: what it says, and everything that was written back to it. */
export class Talk {
  readonly outputs: Array<AdapterOutput> = []
  readonly written: Array<Message> = []
  readonly protocol: Protocol

  constructor(agent: AcpAgent, more: Partial<RunStart> = {}) {
    this.protocol = makeAcp(agent).protocol({ ...start, ...more })
    this.write(this.protocol.open)
  }

  write(text: string | undefined): void {
    this.written.push(...messagesOf(text ?? ""))
  }

  dispatch(outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> {
    for (const output of outputs) if (output._tag === "Reply") this.write(output.text)
    this.outputs.push(...outputs)
    return outputs
  }

  send(...messages: ReadonlyArray<object>): ReadonlyArray<AdapterOutput> {
    return this.dispatch(
      this.protocol.step(Buffer.from(messages.map((one) => `${JSON.stringify(one)}\n`).join("")))
    )
  }

  update(sessionUpdate: string, more: object = {}): ReadonlyArray<AdapterOutput> {
    return this.send({
      method: "session/update",
      params: { sessionId: "s", update: { sessionUpdate, ...more } }
    })
  }

  text(text: string, more: object = {}): ReadonlyArray<AdapterOutput> {
    return this.update("agent_message_chunk", { content: { type: "text", text }, ...more })
  }

  /** Answers the request that waits. */
  result(result: object): ReadonlyArray<AdapterOutput> {
    return this.send({ id: this.written.findLast(({ method }) => method !== undefined)?.id, result })
  }

  error(code: number, message: string): ReadonlyArray<AdapterOutput> {
    return this.send({
      id: this.written.findLast(({ method }) => method !== undefined)?.id,
      error: { code, message }
    })
  }

  /** As far as the first prompt. */
  open(session: object = {}, initialized: object = {}): this {
    this.result({ protocolVersion: 1, agentInfo: { version: "1.2.3" }, ...initialized })
    this.result({ sessionId: "s", ...session })
    return this
  }

  end(code: number | null = 0, signal: string | null = null): void {
    this.dispatch(this.protocol.end({ code, signal, stderr: "" }))
  }

  get last(): Message | undefined {
    return this.written.at(-1)
  }

  get methods(): ReadonlyArray<string | undefined> {
    return this.written.map(({ method }) => method)
  }

  /** Types of events and tags of what is none, replies left out. */
  get shape(): ReadonlyArray<string> {
    return this.outputs
      .filter(({ _tag }) => _tag !== "Reply")
      .map((output) => (output._tag === "Event" ? output.event.type : output._tag))
  }

  get outcome() {
    const last = this.outputs.at(-1)
    return last?._tag === "Outcome" ? last.outcome : undefined
  }

  get reason(): unknown {
    return this.outcome?._tag === "Failed" ? this.outcome.error.details?.["reason"] : undefined
  }

  /** Payloads of the events of a type. */
  payloads<T extends EventType>(type: T): ReadonlyArray<PayloadOf<T>> {
    return this.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === type ? [output.event.payload as PayloadOf<T>] : []
    )
  }

  /** Outputs with a tag. */
  tagged<Tag extends AdapterOutput["_tag"]>(tag: Tag): ReadonlyArray<Extract<AdapterOutput, { _tag: Tag }>> {
    const hasTag = (output: AdapterOutput): output is Extract<AdapterOutput, { _tag: Tag }> =>
      output._tag === tag
    return this.outputs.filter(hasTag)
  }

  get requests() {
    return this.outputs.flatMap((output) => (output._tag === "Approval" ? [output.request] : []))
  }
}

export const plain: AcpAgent = {
  id: "plain-acp",
  label: "Plain",
  command: "plain",
  args: ["acp"],
  install: "Install Plain.",
  signIn: "Sign in to Plain.",
  passEnv: []
}
export const options = [
  { optionId: "always", kind: "allow_always", name: "Always" },
  { optionId: "once", kind: "allow_once", name: "Once" },
  { optionId: "no", kind: "reject_once", name: "No" }
]
export const permissionRequest = (toolCall: object, more: object = { options }): object => ({
  id: 7,
  method: "session/request_permission",
  params: { sessionId: "s", toolCall, ...more }
})
export const modes = (current: string, ...ids: ReadonlyArray<string>): object => ({
  modes: { currentModeId: current, availableModes: ids.map((id) => ({ id })) }
})
