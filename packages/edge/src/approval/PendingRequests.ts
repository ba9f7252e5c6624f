/**
 * Requests of a live run that wait for a person, by their ids and by the runtime's keys. Durable rows are written elsewhere; this state ends with
 * the process.
 */
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
