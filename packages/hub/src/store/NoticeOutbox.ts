/**
 * Notices of this process that other Hubs have not received yet.
 *
 * Guarantees: followers in this process receive a notice immediately. A notice that is added again before it was sent is sent once.
 * Does not send: `Notices` does, outside of the transaction that caused the notice. PostgreSQL commits transactions with notices one after the
 * other across the server.
 */
import type { SqlClient } from "effect/sql"
import type { NoticeKind } from "./Notice.ts"

export class NoticeOutbox {
  /** Passes a notice to the followers in this process. */
  deliver: (kind: NoticeKind, payload: string) => void = () => undefined
  /** The outbox is no longer empty. */
  wake: () => void = () => undefined
  private readonly pending = new Map<NoticeKind, Set<string>>()

  add(kind: NoticeKind, payloads: ReadonlyArray<string>): void {
    if (payloads.length === 0) return
    this.hold(kind, payloads)
    for (const payload of payloads) this.deliver(kind, payload)
    this.wake()
  }

  /** Takes everything that waits. */
  take(): ReadonlyArray<readonly [NoticeKind, string]> {
    const taken = [...this.pending].flatMap(([kind, payloads]) =>
      [...payloads].map((payload) => [kind, payload] as const)
    )
    this.pending.clear()
    return taken
  }

  /** Takes back what could not be sent. */
  restore(notices: ReadonlyArray<readonly [NoticeKind, string]>): void {
    for (const [kind, payload] of notices) this.hold(kind, [payload])
  }

  private hold(kind: NoticeKind, payloads: ReadonlyArray<string>): void {
    const held = this.pending.get(kind) ?? new Set<string>()
    for (const payload of payloads) held.add(payload)
    this.pending.set(kind, held)
  }
}

const outboxes = new WeakMap<SqlClient.SqlClient, NoticeOutbox>()

/** The outbox of the client's database in this process. */
export const noticeOutboxOf = (sql: SqlClient.SqlClient): NoticeOutbox => {
  const existing = outboxes.get(sql)
  if (existing !== undefined) return existing
  const outbox = new NoticeOutbox()
  outboxes.set(sql, outbox)
  return outbox
}

/** Lets a second client of the same database use the outbox of the first. */
export const shareOutbox = (first: SqlClient.SqlClient, second: SqlClient.SqlClient): void => {
  outboxes.set(second, noticeOutboxOf(first))
}
