/**
 * Requests of a live run that wait for a person, by their ids and by the runtime's keys. Durable rows are written elsewhere; this state ends with
 * the process. Approvals are one kind of them: who asks, the assessed request, and the answer.
 *
 * Also the refusal of a decision or an answer that arrives after its approval or its question was resolved.
 */
import type { AssessedRequest } from "./RunPolicy.ts"
import type { Approval } from "@corral/domain/approval/Approval"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  InputAlreadyResolved,
  InputExpired,
  Overloaded
} from "@corral/domain/errors/Failures"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { SparseMap } from "@corral/domain/run/SparseMap"
import { Deferred, Effect } from "effect"

export interface PendingRequest<Id extends string, Answer> {
  readonly id: Id
  /** The runtime's id of the request; absent if the request is not the runtime's. */
  readonly key: string | undefined
  readonly answer: Deferred.Deferred<Answer>
  /** Unix milliseconds; absent if the request does not expire. */
  readonly expiresMs: number | undefined
}

export class PendingRequests<Id extends string, Answer, Request extends PendingRequest<Id, Answer>> {
  readonly #open = new SparseMap<Id, Request>()
  readonly #ids = new SparseMap<string, Id>()
  #unwatched: Array<Request> = []

  protected put(request: Request): void {
    this.#open.set(request.id, request)
    if (request.key !== undefined) this.#ids.set(request.key, request.id)
    this.#unwatched.push(request)
  }

  get(id: Id): Request | undefined {
    return this.#open.get(id)
  }

  idOf(key: string): Id | undefined {
    return this.#ids.get(key)
  }

  get hasUnwatched(): boolean {
    return this.#unwatched.length > 0
  }

  /** Requests since the last call. Each needs a fiber that waits for its answer. */
  takeUnwatched(): ReadonlyArray<Request> {
    const taken = this.#unwatched
    if (taken.length > 0) this.#unwatched = []
    return taken
  }

  answer(id: Id, answer: Answer): Effect.Effect<void> {
    const request = this.#open.get(id)
    if (request === undefined) return Effect.void
    return Effect.asVoid(Deferred.succeed(request.answer, answer))
  }

  remove(id: Id): void {
    const request = this.#open.get(id)
    if (request === undefined) return
    this.#open.delete(id)
    if (request.key !== undefined && this.#ids.get(request.key) === id) this.#ids.delete(request.key)
  }
}

// Pending approvals of a live run: who asks, the assessed request, and the Deferred of the answer.

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

/** The refusal, with the state of the question and the name of the person who answered. */
export const lateAnswerRefusal = ({
  answeredBy,
  id: inputId,
  state
}: InputRequest): InputAlreadyResolved | InputExpired | Overloaded => {
  // The run has stopped, but its end is not stored yet.
  if (state === "pending") return new Overloaded({ details: { reason: "store_failed" } })
  const details = { inputId, state, ...(answeredBy === undefined ? {} : { answeredBy }) }
  return state === "expired" ? new InputExpired({ details }) : new InputAlreadyResolved({ details })
}

/** Accepts the same decision again; refuses another one with the state of the approval. */
export const repeatDecision = (
  approval: Approval,
  answer: ApprovalAnswer
): Effect.Effect<Approval, ApprovalAlreadyResolved | ApprovalExpired | Overloaded> => {
  const wanted = { allow: "approved", deny: "denied", cancel: "cancelled" }[answer.decision]
  const isEdited = answer.updatedInput !== undefined || approval.edited === true
  if (approval.state === wanted && !isEdited) return Effect.succeed(approval)
  // The run has stopped, but its end is not stored yet.
  if (approval.state === "pending")
    return Effect.fail(new Overloaded({ details: { reason: "store_failed" } }))
  const details = { approvalId: approval.id, state: approval.state }
  return Effect.fail(
    approval.state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
