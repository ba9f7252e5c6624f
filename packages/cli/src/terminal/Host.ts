/**
 * What the process lends to a command: its output, the person at the keyboard, its signals. `main.ts` gives the real one.
 */
import { Context, Effect, type Scope } from "effect"

/** `SIGPIPE`: whoever read the output has left, as `head` does. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGPIPE"

export class Host extends Context.Service<
  Host,
  {
    /** Stdout is a terminal. */
    readonly terminal: boolean
    /** Text as it streams and rewritten lines are welcome: a terminal that can do it. */
    readonly live: boolean
    /** Colours are welcome: such a terminal, and the person has not asked for none. */
    readonly colours: boolean
    /** How many characters fit on a line that is rewritten on stderr; undefined where none can be. */
    readonly columns: number | undefined
    /** How many characters fit on a line of stdout; undefined where it is no terminal. */
    readonly width: number | undefined
    /** There is a person who can be asked. */
    readonly interactive: boolean
    /** How this program is called on this machine: `corral`, `npm run corral --`. */
    readonly invocation: string
    /** The environment of the process. */
    readonly environment: Readonly<Record<string, string>>
    /** To stdout, as it is. */
    readonly write: (text: string) => void
    /** Succeeds once the reader of stdout has read everything. A closed reader raises `SIGPIPE`. */
    readonly written: Effect.Effect<void>
    /** To stderr, as it is. */
    readonly warn: (text: string) => void
    /** Calls back with each line typed from now on; gives back how to stop. */
    readonly onLine: (heard: (line: string) => void) => () => void
    /** Takes a signal over from whoever had it, which by default ends the command; gives back how to return it. */
    readonly onSignal: (signal: StopSignal, received: () => void) => () => void
  }
>()("corral/cli/Host") {}

/** Takes the signal over for the length of the scope. */
export const receiveSignal = (
  signal: StopSignal,
  received: () => void
): Effect.Effect<void, never, Host | Scope.Scope> =>
  Effect.flatMap(Host, (host) =>
    Effect.acquireRelease(
      Effect.sync(() => host.onSignal(signal, received)),
      (giveBack) => Effect.sync(giveBack)
    ).pipe(Effect.asVoid)
  )
