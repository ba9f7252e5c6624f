/** Raw output of a run, for authors of adapters: one JSON line for each line that its program printed, without secrets. */
import { Schema } from "effect"

/** A line of stdout. `end`: bytes of stdout up to its end, where they are known. `bytes`: its length, if only its beginning is kept. */
const StdoutLine = Schema.Struct({
  at: Schema.String,
  stream: Schema.Literal("stdout"),
  text: Schema.String,
  end: Schema.optionalKey(Schema.Int),
  bytes: Schema.optionalKey(Schema.Int)
})

/** The end of stderr. */
const StderrEnd = Schema.Struct({ at: Schema.String, stream: Schema.Literal("stderr"), text: Schema.String })

/** How the program ended. */
const ProgramExit = Schema.Struct({
  at: Schema.String,
  exit: Schema.Struct({ code: Schema.NullOr(Schema.Int), signal: Schema.NullOr(Schema.String) })
})

/** The first record of an output that lost its beginning: how many bytes of stdout are missing. */
const LeftOut = Schema.Struct({ leftOut: Schema.Int })

export const RawRecord = Schema.Union([StdoutLine, StderrEnd, ProgramExit, LeftOut])
export type RawRecord = typeof RawRecord.Type
