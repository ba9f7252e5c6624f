/** What a run asks people by a part of its events: approvals, or questions. Each request is in its state after them. */

interface Identified<Id> {
  readonly id: Id
}

export class MirroredRequests<Id extends string, Request extends Identified<Id>, Resolution extends object> {
  /** Requested by these events. */
  readonly requested = new Map<Id, Request>()
  /** Requested earlier, and resolved by these events. */
  readonly resolved = new Map<Id, Resolution>()

  get hasChanged(): boolean {
    return this.requested.size > 0 || this.resolved.size > 0
  }

  request(request: Request): void {
    this.requested.set(request.id, request)
  }

  resolve(id: Id, resolution: Resolution): void {
    const requested = this.requested.get(id)
    if (requested === undefined) this.resolved.set(id, resolution)
    else this.requested.set(id, { ...requested, ...resolution })
  }
}
