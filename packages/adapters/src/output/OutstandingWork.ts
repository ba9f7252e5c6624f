/**
 * Work in the background that a runtime reported: each work starts once and ends once.
 *
 * Guarantees: reports one work more than `MAX_OUTSTANDING`, at which the run machine ends the run, and follows no more.
 */
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { SparseMap } from "@corral/domain/run/SparseMap"
import { MAX_OUTSTANDING } from "@corral/domain/run/Work"

export type WorkOutput = Extract<AdapterOutput, { readonly _tag: "Work" }>
export type StartedWork = Pick<WorkOutput, "id" | "kind" | "title" | "parentCallId">
export type WorkEnding = Exclude<WorkOutput["state"], "running">

export class OutstandingWorks {
  readonly #works = new SparseMap<string, StartedWork>()

  get ids(): ReadonlyArray<string> {
    return this.#works.keys()
  }

  get isEmpty(): boolean {
    return this.#works.size === 0
  }

  has(id: string): boolean {
    return this.#works.has(id)
  }

  /** The output of the start; `undefined` if the work is outstanding. */
  start(work: StartedWork): WorkOutput | undefined {
    if (this.#works.has(work.id) || this.#works.size > MAX_OUTSTANDING) return undefined
    this.#works.set(work.id, work)
    return { _tag: "Work", ...work, state: "running" }
  }

  /** The output of the end; `undefined` if the work is not outstanding. */
  end(id: string, state: WorkEnding, continues: boolean): WorkOutput | undefined {
    const work = this.#works.get(id)
    if (work === undefined) return undefined
    this.#works.delete(id)
    return { _tag: "Work", ...work, state, ...(continues ? { continues } : {}) }
  }
}
