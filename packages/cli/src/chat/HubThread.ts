/**
 * Conversation of a chat as a session of a Hub, and its messages as the chat shows them.
 *
 * A new session begins with the first message. Messages wait at the Hub for their turn, and for a device that is offline.
 */
import { newIdempotencyKey } from "@corral/client/http/Transport"
import type { RunId } from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { RunMode } from "@corral/domain/run/Run"
import type { DeliveryState, Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { Effect } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { FileUploads } from "../attachment/LocalFile.ts"
import { type HubApiClient, userNaming } from "../hub/HubClient.ts"
import type { StoredSignIn } from "../hub/SignInFile.ts"
import { isolationSuffix } from "../run/EventLines.ts"
import type { RunServer } from "../run/RunServer.ts"
import type {
  AgentOption,
  ChatThread,
  OutgoingMessage,
  ThreadMessage,
  ThreadMessageState,
  ThreadUpdate
} from "./ChatThread.ts"
import type { AgentPlace } from "./HubPlace.ts"
import { HubSession, SessionFeed } from "./HubSession.ts"

interface MessageReaders {
  /** The user of this terminal. */
  readonly userId: string
  readonly names: ReadonlyMap<string, string>
  readonly agents: ReadonlyArray<AgentInstance>
}

const states: Readonly<Record<DeliveryState, ThreadMessageState>> = {
  pending: "queued",
  delivered: "delivered",
  failed: "failed",
  withdrawn: "withdrawn"
}

/** Messages of a session as a chat shows them. */
const threadMessage = (message: Message, { agents, names, userId }: MessageReaders): ThreadMessage => {
  const { attachments = [], author, delivery, error, id, runId, text, version, when } = message
  const name =
    author.kind === "agent"
      ? (agents.find((agent) => agent.id === author.agentInstanceId)?.label ?? "agent")
      : author.userId === userId
        ? undefined
        : (names.get(author.userId) ?? "another user")
  return {
    id,
    version,
    author: name,
    text,
    files: attachments,
    state: author.kind === "agent" ? "answer" : delivery === undefined ? "note" : states[delivery.state],
    isHeld: delivery?.held === true,
    isInput: when === "now",
    runId: delivery?.runId ?? runId,
    problem: (delivery?.error ?? error)?.message,
    hasTranscript: delivery?.context === "transcript"
  }
}

export interface HubThreadOptions {
  readonly calls: HubApiClient
  readonly signIn: StoredSignIn
  readonly server: RunServer
  readonly place: AgentPlace
  /** Without one, the first message begins a session. */
  readonly session: Session | undefined
  /** Names of the project's members, by id. */
  readonly names: ReadonlyMap<string, string>
}

export class HubThread implements ChatThread {
  readonly server: RunServer
  readonly acceptsFiles = true
  private readonly calls: HubApiClient
  private readonly options: HubThreadOptions
  private readonly session: HubSession
  private readonly feed: SessionFeed
  private readonly uploads: FileUploads

  constructor(options: HubThreadOptions) {
    const { calls, names, place, server, session, signIn } = options
    this.options = options
    this.calls = calls
    this.server = server
    this.nameOf = userNaming(signIn, names)
    this.uploads = new FileUploads(signIn)
    this.session = new HubSession(calls, place, session)
    const messageOf = (message: Message) => this.messageOf(message)
    this.feed = new SessionFeed({ calls, signIn, server, session: this.session, messageOf })
  }

  readonly id = (): string | undefined => this.session.current?.id
  readonly nameOf: (user: string) => string
  readonly mode = (): RunMode => this.session.agent.mode
  readonly place = (): string => {
    const { agentId, isolation, targetName, workspace } = this.session.agent
    const device = `${targetName}${this.feed.isOffline ? " (offline)" : ""}`
    return `${agentId} in ${workspace} on ${device}${isolationSuffix(isolation)}`
  }

  /** Runs in progress, when the session was opened or its history was read. */
  readonly activeRuns = (): ReadonlyArray<RunId> => this.session.current?.activeRuns ?? []

  /** Begins the session without a message. */
  get begin(): Effect.Effect<string, CommandFailed> {
    return this.session.begin
  }

  history(atMost: number) {
    return this.feed.history(atMost)
  }

  follow(
    report: (update: ThreadUpdate) => void,
    ready?: Effect.Effect<void>
  ): Effect.Effect<void, CommandFailed> {
    return this.feed.follow(report, ready)
  }

  send(message: OutgoingMessage): Effect.Effect<ThreadMessage, CommandFailed> {
    return Effect.gen({ self: this }, function* () {
      const { files, isInput, key, limits = {}, mode, model, text } = message
      // Before the session begins: a file that is refused leaves no empty session.
      const attachments = yield* this.uploads.idsOf(files)
      const id = yield* this.session.begin
      const { instanceId } = this.session.agent
      const choices = {
        ...(mode === undefined || isInput ? {} : { mode }),
        ...(model === undefined || isInput ? {} : { model }),
        ...(isInput ? {} : limitsOfTurn(limits, {}))
      }
      const post = (when: "now" | "next", idempotencyKey: string) =>
        this.calls.sessions.addMessage({
          params: { id },
          headers: { "idempotency-key": idempotencyKey },
          payload: {
            text,
            when,
            onOffline: "queue",
            ...choices,
            ...(attachments.length === 0 ? {} : { attachments }),
            ...(instanceId === undefined ? {} : { to: instanceId })
          }
        })
      const sent = isInput
        ? post("now", key).pipe(
            // An agent that takes no input during its turn.
            Effect.catchIf(
              ({ code }) => code === "conflict",
              () => post("next", `${key}-next`)
            )
          )
        : post("next", key)
      return this.messageOf(yield* sent)
    })
  }

  /** The Hub sends the message. */
  carryOut(): Effect.Effect<void> {
    return Effect.void
  }

  retry(id: string): Effect.Effect<void, CommandFailed> {
    return Effect.asVoid(
      Effect.flatMap(this.session.id, (session) =>
        this.calls.sessions.retryMessage({
          params: { id: session, messageId: id as Message["id"] }, // ids of messages are those of the Hub
          headers: { "idempotency-key": newIdempotencyKey() }
        })
      )
    )
  }

  withdraw(id: string): Effect.Effect<void, CommandFailed> {
    return Effect.asVoid(
      Effect.flatMap(this.session.id, (session) =>
        this.calls.sessions.withdrawMessage({
          params: { id: session, messageId: id as Message["id"] } // ids of messages are those of the Hub
        })
      )
    )
  }

  /** Of all agents of the session. */
  readonly continueQueue = Effect.suspend(() =>
    Effect.flatMap(this.session.id, (id) =>
      Effect.flatMap(this.calls.sessions.get({ params: { id } }), ({ agents }) =>
        Effect.forEach(
          agents.filter(({ held }) => held !== undefined),
          (agent) => this.calls.sessions.continueAgent({ params: { id, agentInstanceId: agent.id } }),
          { discard: true }
        )
      )
    )
  )

  get agents() {
    return this.session.agents
  }

  chooseAgent(option: AgentOption): Effect.Effect<void, CommandFailed> {
    return this.session.chooseAgent(option)
  }

  private messageOf(message: Message): ThreadMessage {
    const { names, signIn } = this.options
    return threadMessage(message, {
      userId: signIn.userId,
      names,
      agents: this.session.current?.agents ?? []
    })
  }
}
