/**
 * Process of a command: output, keyboard input and signals. `main.ts` provides the real implementation.
 */
import { Context, Effect, type Scope } from "effect"
import type { EditorListener, LineEditor } from "./LineEditor.ts"

/** `SIGPIPE`: the reader of the output has closed it, as `head` does. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGPIPE"

export class Host extends Context.Service<
  Host,
  {
    /** Whether stdout is a terminal. */
    readonly terminal: boolean
    /** Whether the terminal supports streamed text and rewritten lines. */
    readonly live: boolean
    /** Whether to use colours: a live terminal without `NO_COLOR`. */
    readonly colours: boolean
    /** Width of a rewritten line on stderr. Undefined if stderr does not support it. */
    readonly columns: number | undefined
    /** Width of stdout. Undefined if it is not a terminal. */
    readonly width: number | undefined
    /** Current size of the terminal on stdout. */
    readonly size: () => { readonly columns: number; readonly rows: number }
    /** Subscribes to changes of the size. Returns the function that unsubscribes. */
    readonly onResize: (listener: () => void) => () => void
    /** Reads keys instead of lines, until the editor is closed. */
    readonly openEditor: (listener: EditorListener) => LineEditor
    /** stdin and stdout as bytes, for a program on the other side. Nothing else may use them then. */
    readonly bytes: () => {
      readonly input: AsyncIterable<Uint8Array>
      readonly write: (bytes: Uint8Array) => Promise<void>
    }
    /** Whether a user can answer prompts. */
    readonly interactive: boolean
    /** Command that starts this program: `corral`, `npm run corral --`. */
    readonly invocation: string
    /** The environment of the process. */
    readonly environment: Readonly<Record<string, string>>
    /** Writes to stdout unchanged. */
    readonly write: (text: string) => void
    /** Completes when the reader of stdout has read everything. A closed reader raises `SIGPIPE`. */
    readonly written: Effect.Effect<void>
    /** Writes to stderr unchanged. */
    readonly warn: (text: string) => void
    /** Subscribes to typed lines. Returns the function that unsubscribes. */
    readonly onLine: (listener: (line: string) => void) => () => void
    /** Reads the next line without showing it. Returns the function that stops. Until then `onLine` receives nothing. */
    readonly onSecret: (listener: (line: string) => void) => () => void
    /** Replaces the current handler of a signal. Returns the function that restores it. By default a signal ends the command. */
    readonly onSignal: (signal: StopSignal, handler: () => void) => () => void
  }
>()("corral/cli/Host") {}

/** Handles a signal until the scope closes. */
export const receiveSignal = (
  signal: StopSignal,
  handler: () => void
): Effect.Effect<void, never, Host | Scope.Scope> =>
  Effect.flatMap(Host, (host) =>
    Effect.acquireRelease(
      Effect.sync(() => host.onSignal(signal, handler)),
      (restore) => Effect.sync(restore)
    ).pipe(Effect.asVoid)
  )
