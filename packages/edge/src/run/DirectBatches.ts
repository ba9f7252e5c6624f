/**
 * Batches of output that are recorded by the call that delivers them, while the run's fiber waits. Most batches of a stream are of this kind, and to
 * resume a fiber and to build its effects costs more than all else that the event loop does for them.
 *
 * Guarantees: the order of a batch is that of `RunActor`: handle, commit, write to stdin, accept further output. A batch that needs more than
 * that (an action, an approval, an artifact, a clock, the writer thread) is left to the fiber as far as it has come.
 */
import type { DirectProcessing } from "./Mailbox.ts"
import { commitNow } from "./BatchCommit.ts"
import type { MailboxBatch } from "./MailboxBatch.ts"
import { clocksContinue } from "./RunClocks.ts"
import type { RunMessage } from "./RunMessage.ts"
import type { RunSession } from "./RunSession.ts"

export class DirectBatches implements DirectProcessing<RunMessage> {
  readonly #session: RunSession
  readonly #makeBatch: () => MailboxBatch
  #left: (() => MailboxBatch) | undefined

  constructor(session: RunSession, makeBatch: () => MailboxBatch) {
    this.#session = session
    this.#makeBatch = makeBatch
  }

  accepts({ _tag }: RunMessage): boolean {
    const { backlog, process } = this.#session
    return _tag === "Decoded" && process !== undefined && !backlog.isWaiting
  }

  process(message: RunMessage): boolean {
    try {
      const batch = this.#makeBatch()
      batch.handle(message)
      if (needsFiber(this.#session, batch) || !commitNow(this.#session, batch)) {
        this.#left = () => batch
        return false
      }
      release(this.#session, batch)
      return true
    } catch (cause) {
      // The fiber fails as if it had processed the message.
      this.#left = () => {
        throw cause
      }
      return false
    }
  }

  /** The batch that was left, or a new one. Throws what the batch has thrown. */
  take(): MailboxBatch {
    const left = this.#left
    this.#left = undefined
    return left === undefined ? this.#makeBatch() : left()
  }
}

const needsFiber = (session: RunSession, batch: MailboxBatch): boolean => {
  const { approvals, inputs, options } = session
  return (
    batch.actions.length > 0 ||
    batch.replies.length > 0 ||
    options.recorder.pendingArtifacts.length > 0 ||
    approvals.hasUnwatched ||
    inputs.hasUnwatched ||
    !clocksContinue(session)
  )
}

/** What may leave the run once a batch is durable, and needs no fiber. */
export const release = (session: RunSession, batch: MailboxBatch): void => {
  for (const text of batch.writes) session.stdin.write(text)
  if (batch.isUnfinished) session.resumeLater()
  if (batch.hasToolResult) session.options.protection?.callEnded()
  session.options.commits?.observe(session.options.recorder.state)
  // Last, because it may read further output.
  session.stdout.processed(batch.weight, session.holdsOutput())
}
