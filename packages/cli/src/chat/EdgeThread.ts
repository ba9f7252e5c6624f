/**
 * Conversation of a chat with an Edge alone: runs of one local session that continue each other.
 *
 * Messages that wait for the end of a turn are in this terminal only, because an Edge has no queue of messages.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import { type InputRequest, planMessage } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/run/Run"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Effect, Result } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import type { EdgeApiClient } from "../edge/EdgeClient.ts"
import { isolationSuffix } from "../run/EventLines.ts"
import { type RunServer, hasEnded } from "../run/RunServer.ts"
import type { AgentOption, ChatThread, OutgoingMessage, ThreadMessage, ThreadUpdate } from "./ChatThread.ts"
import { RunChain, type RunChainOptions } from "./RunChain.ts"

interface Waiting {
  readonly message: OutgoingMessage
  readonly shown: ThreadMessage
}

export class EdgeThread implements ChatThread {
  readonly server: RunServer
  readonly acceptsFiles = false
  private readonly options: RunChainOptions
  private readonly chain: RunChain
  private waiting: ReadonlyArray<Waiting> = []
  private readonly failed = new Map<string, OutgoingMessage>()
  private version = 0
  private report: (update: ThreadUpdate) => void = () => undefined

  constructor(options: RunChainOptions) {
    this.options = options
    this.server = options.server
    this.chain = new RunChain(options, (update) => this.report(update))
  }

  readonly nameOf = (user: string): string => user
  readonly mode = (): RunMode => this.options.mode
  readonly place = (): string =>
    `${this.chain.agent.id} in ${this.options.workspace} on this machine${isolationSuffix(this.options.isolation)}`
  readonly id = (): string | undefined => this.chain.id

  readonly history = () =>
    Effect.sync(() =>
      this.options.runs.flatMap(({ error, id, input, resultText, state }): ReadonlyArray<ThreadMessage> => {
        const sent = messageOfPrompt(input.text)
        const message = this.shown({ id: `${id} input`, text: sent, state: "delivered", runId: id })
        if (!hasEnded(state)) return [message]
        const text = resultText ?? ""
        const answer = this.shown({
          id: `${id} answer`,
          text,
          state: "answer",
          runId: id,
          problem: error?.message
        })
        return [message, { ...answer, author: this.chain.agent.id }]
      })
    )

  follow(
    report: (update: ThreadUpdate) => void,
    ready?: Effect.Effect<void>
  ): Effect.Effect<void, CommandFailed> {
    this.report = report
    return Effect.forever(
      Effect.flatMap(this.chain.followNext(ready), (end) => {
        if (end === "completed") return this.startNext
        if (end === "unsuccessful") this.hold()
        return Effect.void
      })
    )
  }

  send(message: OutgoingMessage): Effect.Effect<ThreadMessage, CommandFailed> {
    const { live } = this.chain
    if (live === undefined) return this.start(message)
    if (!message.isInput && !this.chain.takesNext(message)) return Effect.sync(() => this.wait(message))
    return this.calls((calls) =>
      calls.runs.input({
        params: { id: live },
        headers: { "idempotency-key": message.key },
        payload: { text: message.text }
      })
    ).pipe(
      Effect.map(() =>
        this.shown({
          id: message.key,
          text: message.text,
          state: "delivered",
          runId: live,
          isInput: message.isInput
        })
      ),
      // The agent takes no input during its turn, or the turn has just ended.
      Effect.catchIf(
        ({ code }) => code === "conflict",
        () => (this.chain.live === undefined ? this.start(message) : Effect.sync(() => this.wait(message)))
      )
    )
  }

  carryOut(answered: InputRequest): Effect.Effect<void, CommandFailed> {
    if (answered.approved !== true) return Effect.void
    return Effect.gen({ self: this }, function* () {
      const planned = yield* this.server.run(answered.runId)
      if (!endsWithPlan(planned.mode)) return
      const { comment, id: key, plan } = answered
      const message: OutgoingMessage = {
        key,
        text: planMessage(comment),
        textWithoutMemory: planMessage(comment, plan),
        files: [],
        isInput: false,
        mode: answered.mode ?? "ask",
        model: undefined,
        limits: limitsOfTurn({}, planned)
      }
      const shown = this.chain.live === undefined ? yield* this.start(message) : this.wait(message)
      this.report({ kind: "message", message: shown })
    })
  }

  retry(id: string): Effect.Effect<void, CommandFailed> {
    const message = this.failed.get(id)
    if (message === undefined) return Effect.void
    this.failed.delete(id)
    return Effect.map(this.send(message), (shown) => this.report({ kind: "message", message: shown }))
  }

  withdraw(id: string): Effect.Effect<void> {
    return Effect.sync(() => {
      const found = this.waiting.find(({ shown }) => shown.id === id)
      this.waiting = this.waiting.filter((each) => each !== found)
      if (found !== undefined)
        this.report({
          kind: "message",
          message: { ...found.shown, state: "withdrawn", version: ++this.version }
        })
    })
  }

  readonly continueQueue = Effect.suspend(() => {
    const held = this.waiting.filter(({ shown }) => shown.isHeld)
    this.change(held, false)
    return this.startNext
  })

  /** The run was stopped or failed: messages that waited for its end wait for the user. */
  private hold(): void {
    this.change(this.waiting, true)
  }

  private change(messages: ReadonlyArray<Waiting>, isHeld: boolean): void {
    const changed = new Map(
      messages.map(({ message, shown }) => [
        shown.id,
        { message, shown: { ...shown, isHeld, version: ++this.version } }
      ])
    )
    this.waiting = this.waiting.map((each) => changed.get(each.shown.id) ?? each)
    for (const { shown } of changed.values()) this.report({ kind: "message", message: shown })
  }

  readonly agents = Effect.suspend(() => this.calls((calls) => calls.agents.list())).pipe(
    Effect.map(({ items }) =>
      items
        .filter(({ available }) => available)
        .map(({ id, label }): AgentOption => ({
          id,
          name: id,
          about: label,
          isCurrent: id === this.chain.agent.id
        }))
    )
  )

  chooseAgent({ id }: AgentOption): Effect.Effect<void, CommandFailed> {
    return Effect.map(
      this.calls((calls) => calls.agents.list()),
      ({ items }) => {
        const agent = items.find((each) => each.id === id)
        if (agent !== undefined) this.chain.chooseAgent(agent)
      }
    )
  }

  private calls<A>(
    use: (calls: EdgeApiClient) => Effect.Effect<A, CommandFailed>
  ): Effect.Effect<A, CommandFailed> {
    return Effect.flatMap(this.options.connect, use)
  }

  private wait(message: OutgoingMessage): ThreadMessage {
    const shown = this.shown({ id: message.key, text: message.text, state: "waiting" })
    this.waiting = [...this.waiting, { message, shown }]
    if (this.chain.isIdle && !message.isInput)
      this.report({
        kind: "notice",
        text: "The message waits for the end of the background work. /finish ends it now."
      })
    return shown
  }

  private start(message: OutgoingMessage): Effect.Effect<ThreadMessage, CommandFailed> {
    const { key, text } = message
    return Effect.map(this.chain.start(message), (runId) =>
      this.shown({ id: key, text, state: "delivered", runId })
    )
  }

  /** Starts the next message that waits. */
  private readonly startNext: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const next = this.waiting.find(({ shown: { isHeld } }) => !isHeld)
    if (next === undefined || this.chain.live !== undefined) return
    this.waiting = this.waiting.filter((each) => each !== next)
    const { message, shown } = next
    const started = yield* Effect.result(this.start(message))
    if (Result.isSuccess(started)) return this.report({ kind: "message", message: started.success })
    this.failed.set(shown.id, message)
    const failed = {
      ...shown,
      state: "failed" as const,
      problem: started.failure.message,
      version: ++this.version
    }
    this.report({ kind: "message", message: failed })
    this.hold()
  })

  private shown(
    message: Pick<ThreadMessage, "id" | "text" | "state"> & Partial<ThreadMessage>
  ): ThreadMessage {
    return {
      version: ++this.version,
      author: undefined,
      files: [],
      isInput: false,
      isHeld: false,
      runId: undefined,
      problem: undefined,
      hasTranscript: false,
      ...message
    }
  }
}
