/**
 * Sessions that one editor has open.
 *
 * Guarantees: their number is bounded. A session that is closed, or that the service no longer accepts the user in, releases what it uses.
 */
import { Effect, Exit, FiberSet, Scope } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { type EditorClient, sessionNotFound } from "./EditorClient.ts"
import { AcpSession } from "./AcpSession.ts"
import type { EditorSessions, OpenedSession } from "./EditorSessions.ts"

const MAX_OPEN = 64

export interface OpenSessionsOptions {
  readonly sessions: EditorSessions
  readonly client: EditorClient
  readonly invocation: string
  readonly scope: Scope.Scope
  /** The service no longer accepts the user at all. */
  readonly onSignedOut: (failure: CommandFailed) => void
  readonly onChoice: (session: AcpSession) => void
}

interface Open {
  readonly session: AcpSession
  readonly scope: Scope.Closeable
}

/** How the editor continues: from nothing, with all that happened before, or with what it has. */
export type Beginning = "new" | "load" | "resume"

export class OpenSessions {
  private readonly options: OpenSessionsOptions
  private readonly open = new Map<string, Open>()
  private opening = 0

  constructor(options: OpenSessionsOptions) {
    this.options = options
  }

  get(id: string): Effect.Effect<AcpSession, ReturnType<typeof sessionNotFound>> {
    const found = this.open.get(id)
    return found === undefined ? Effect.fail(sessionNotFound(id)) : Effect.succeed(found.session)
  }

  begin(
    opened: Effect.Effect<OpenedSession, CommandFailed>,
    beginning: Beginning
  ): Effect.Effect<AcpSession, CommandFailed> {
    return Effect.suspend(() => {
      if (this.open.size + this.opening >= MAX_OPEN)
        return Effect.fail(refused(`Up to ${MAX_OPEN} sessions can be open at a time. Close one first.`))
      this.opening++
      return Effect.flatMap(opened, (session) => this.add(session, beginning)).pipe(
        Effect.ensuring(Effect.sync(() => this.opening--))
      )
    })
  }

  /** Closes the session. Its runs continue. */
  close(id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const found = this.open.get(id)
      if (found === undefined) return Effect.void
      this.open.delete(id)
      found.session.end()
      return Scope.close(found.scope, Exit.void)
    })
  }

  private readonly add = Effect.fnUntraced(function* (
    this: OpenSessions,
    opened: OpenedSession,
    beginning: Beginning
  ) {
    const { client, invocation, onChoice, onSignedOut, scope: parent, sessions } = this.options
    // The editor opens it again: what it has open is replaced.
    yield* this.close(opened.id)
    const scope = yield* Scope.fork(parent)
    const session: AcpSession = new AcpSession({
      opened,
      client,
      invocation,
      service: sessions.service,
      onChoice,
      fibers: yield* Effect.provideService(FiberSet.make(), Scope.Scope, scope),
      onLost: (failure) => {
        if (failure.code === "unauthorized") return onSignedOut(failure)
        if (this.open.get(opened.id)?.session === session) this.open.delete(opened.id)
      }
    })
    this.open.set(opened.id, { session, scope })
    yield* Effect.forkIn(session.writing, scope)
    if (beginning !== "new") yield* beginning === "load" ? session.replay : session.resume
    yield* Effect.forkIn(session.following, scope)
    if (beginning !== "new") yield* session.caughtUp
    return session
  })
}
