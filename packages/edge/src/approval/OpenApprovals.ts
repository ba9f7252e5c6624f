/**
 * Pending approvals of a live run: the runtime's key, the request, and the Deferred of the answer. Durable rows are written elsewhere; this
 * state ends with the process.
 */
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect } from "effect"
import type { AssessedRequest } from "./RunPolicy.ts"

/** What waits for a decision: the runtime, with its own key, or a connection of the run. */
export type ApprovalAsker =
  | { readonly _tag: "Runtime"; readonly key: string }
  | {
      readonly _tag: "Connection"
      /** Host and port. */
      readonly address: string
      readonly reply: Deferred.Deferred<ApprovalAnswer | undefined>
    }

export interface OpenApproval {
  readonly id: ApprovalId
  readonly asker: ApprovalAsker
  readonly assessed: AssessedRequest
  readonly answer: Deferred.Deferred<ApprovalAnswer>
  /** Unix milliseconds. */
  readonly expiresMs: number
}

export class OpenApprovals {
  private readonly open = new Map<ApprovalId, OpenApproval>()
  private readonly ids = new Map<string, ApprovalId>()
  private readonly unnamed = new Set<ApprovalId>()
  private unwatched: Array<OpenApproval> = []

  add(id: ApprovalId, asker: ApprovalAsker, assessed: AssessedRequest, expiresMs: number): void {
    const approval = { id, asker, assessed, expiresMs, answer: Deferred.makeUnsafe<ApprovalAnswer>() }
    this.open.set(id, approval)
    if (asker._tag === "Runtime") this.ids.set(asker.key, id)
    this.unwatched.push(approval)
  }

  get(id: ApprovalId): OpenApproval | undefined {
    return this.open.get(id)
  }

  /** Its answer allows no change of protected names, because no user has seen the files that it names. */
  allowNoChanges(id: ApprovalId): void {
    this.unnamed.add(id)
  }

  allowsChanges(id: ApprovalId): boolean {
    return !this.unnamed.has(id)
  }

  idOf(key: string): ApprovalId | undefined {
    return this.ids.get(key)
  }

  get hasUnwatched(): boolean {
    return this.unwatched.length > 0
  }

  /** Approvals since the last call. Each needs a fiber that waits for its answer. */
  takeUnwatched(): ReadonlyArray<OpenApproval> {
    const taken = this.unwatched
    if (taken.length > 0) this.unwatched = []
    return taken
  }

  answer(id: ApprovalId, answer: ApprovalAnswer): Effect.Effect<void> {
    const approval = this.open.get(id)
    if (approval === undefined) return Effect.void
    return Effect.asVoid(Deferred.succeed(approval.answer, answer))
  }

  remove(id: ApprovalId): void {
    const approval = this.open.get(id)
    if (approval === undefined) return
    this.open.delete(id)
    this.unnamed.delete(id)
    if (approval.asker._tag === "Runtime") this.ids.delete(approval.asker.key)
  }
}
