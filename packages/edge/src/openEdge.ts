/**
 * An Edge inside a program, with promises: `EmbeddedEdge` for programs that do not use Effect.
 *
 * Guarantees: a refused request rejects with an error whose `code` and `message` are those of the HTTP interface. After `close`, the runs have
 * ended and their last events are stored.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import { Overloaded } from "@corral/domain/errors/Failures"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { Run } from "@corral/domain/run/Run"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { type Effect, Layer, Logger, ManagedRuntime, Stream } from "effect"
import {
  type EmbeddedAnswer,
  type EmbeddedDecision,
  EmbeddedEdge,
  type EmbeddedEdgeOptions,
  type RunFilter,
  type RunRequest
} from "./EmbeddedEdge.ts"

export interface OpenEdge {
  /** Resolves when the run is stored and started. */
  readonly start: (request: RunRequest) => Promise<Run>
  readonly run: (id: string) => Promise<Run>
  readonly runs: (filter?: RunFilter) => Promise<ReadonlyArray<Run>>
  /** Events of a run after the position `after`, stored ones and then new ones, to its last. A loop that stops early ends the reading. */
  readonly events: (id: string, options?: { readonly after?: number | undefined }) => AsyncIterable<RunEvent>
  /** Decides an approval. The first valid decision wins. */
  readonly decide: (request: EmbeddedDecision) => Promise<Approval>
  /** Answers a question or a plan. The first valid answer wins. */
  readonly answer: (request: EmbeddedAnswer) => Promise<InputRequest>
  /** Sends further input to a live run. */
  readonly input: (id: string, text: string) => Promise<Run>
  /** Resolves with the cancelled run when nothing of it is left. */
  readonly cancel: (id: string) => Promise<Run>
  /** The run, once it has ended. */
  readonly result: (id: string) => Promise<Run>
  /** Ends the Edge and its runs. */
  readonly close: () => Promise<void>
}

/** stdout belongs to the program. */
const log = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** Opens an Edge. Its warnings are lines on stderr. Rejects with a sentence if it cannot start. */
export const openEdge = async (options: EmbeddedEdgeOptions): Promise<OpenEdge> => {
  const runtime = ManagedRuntime.make(Layer.provideMerge(EmbeddedEdge.layer(options), log))
  const edge = await runtime.runPromise(EmbeddedEdge)
  let isOpen = true
  const run = <A, E>(call: Effect.Effect<A, E>): Promise<A> =>
    isOpen ? runtime.runPromise(call) : Promise.reject(new Overloaded({ message: "The Edge is closed." }))
  return {
    start: (request) => run(edge.start(request)),
    run: (id) => run(edge.run(id)),
    runs: (filter) => run(edge.runs(filter)),
    events: (id, following) => Stream.toAsyncIterable(edge.events(id, following)),
    decide: (request) => run(edge.decide(request)),
    answer: (request) => run(edge.answer(request)),
    input: (id, text) => run(edge.input(id, text)),
    cancel: (id) => run(edge.cancel(id)),
    result: (id) => run(edge.result(id)),
    close: () => {
      isOpen = false
      return runtime.dispose()
    }
  }
}
