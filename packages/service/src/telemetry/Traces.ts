/**
 * Spans of requests, commands and runs, started explicitly. Without a collector there are none, and a caller's `traceparent` is passed on
 * unchanged.
 *
 * Does not: record spans of Effect or of libraries, which contain addresses, queries and headers.
 */
import { contextOf, traceparentFor } from "@corral/domain/http/TraceContext"
import { type Clock, Context, Exit, Option, Tracer } from "effect"

/** Short words and ids, never a text, a path or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number>>

export interface TraceSpan {
  /** Id of this span, for its children. */
  readonly traceparent: string
  /** Adds attributes. */
  readonly put: (attributes: SpanAttributes) => void
  /** Ends the span. Ignored after the first time. */
  readonly end: (attributes: SpanAttributes, failed: boolean) => void
}

export interface Traces {
  /** Starts a span. `parent` is a valid `traceparent`. Returns `undefined` without a collector. */
  readonly start: (
    name: string,
    kind: Tracer.SpanKind,
    parent: string | undefined,
    attributes: SpanAttributes
  ) => TraceSpan | undefined
}

/** Traces of the service. Without a collector nothing is traced. */
export const CurrentTraces = Context.Reference<Traces>("corral/service/Traces", {
  defaultValue: (): Traces => ({ start: () => undefined })
})

/** The `traceparent` of the current work. */
export const CurrentTraceparent = Context.Reference<string | undefined>("corral/service/Traceparent", {
  defaultValue: () => undefined
})

/** Replaces an error, whose message may contain anything. */
const FAILED = Exit.fail("failed")

/** Spans of a tracer. A span follows its caller's decision whether to sample. */
export const tracesOf = (tracer: Tracer.Tracer, clock: Clock.Clock): Traces => ({
  start: (name, kind, parent, attributes) => {
    const parentContext = parent === undefined ? undefined : contextOf(parent)
    const span = tracer.span({
      name,
      kind,
      parent: parentContext === undefined ? Option.none() : Option.some(Tracer.externalSpan(parentContext)),
      annotations: Context.empty(),
      links: [],
      startTime: clock.currentTimeNanosUnsafe(),
      root: parentContext === undefined,
      sampled: parentContext?.sampled ?? true
    })
    const put = (more: SpanAttributes) => {
      for (const [key, value] of Object.entries(more)) span.attribute(key, value)
    }
    put(attributes)
    return {
      traceparent: traceparentFor(span),
      put,
      end: (more, failed) => {
        if (span.status._tag === "Ended") return
        put(more)
        span.end(clock.currentTimeNanosUnsafe(), failed ? FAILED : Exit.void)
      }
    }
  }
})
