/** Pending approvals of a live run: who asks, the assessed request, and the Deferred of the answer. */
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Deferred } from "effect"
import { type PendingRequest, PendingRequests } from "./PendingRequests.ts"
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

export interface OpenApproval extends PendingRequest<ApprovalId, ApprovalAnswer> {
  readonly asker: ApprovalAsker
  readonly assessed: AssessedRequest
}

export class OpenApprovals extends PendingRequests<ApprovalId, ApprovalAnswer, OpenApproval> {
  readonly #unnamed = new Set<ApprovalId>()

  add(id: ApprovalId, asker: ApprovalAsker, assessed: AssessedRequest, expiresMs: number): void {
    const key = asker._tag === "Runtime" ? asker.key : undefined
    this.put({ id, key, asker, assessed, expiresMs, answer: Deferred.makeUnsafe<ApprovalAnswer>() })
  }

  /** Its answer allows no change of protected names, because no user has seen the files that it names. */
  allowNoChanges(id: ApprovalId): void {
    this.#unnamed.add(id)
  }

  allowsChanges(id: ApprovalId): boolean {
    return !this.#unnamed.has(id)
  }

  override remove(id: ApprovalId): void {
    super.remove(id)
    this.#unnamed.delete(id)
  }
}
