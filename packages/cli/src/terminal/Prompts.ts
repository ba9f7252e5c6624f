/**
 * Prompts of a terminal: one at a time, in the order in which they were asked, and the choice of one item from a list, with the arrow keys. A prompt is
 * withdrawn if it is answered elsewhere.
 *
 * Guarantees: input typed before a prompt appears never answers it.
 */
import { Effect, FiberMap, type Scope, Semaphore } from "effect"
import { Prompt } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { Host } from "./Host.ts"
import { fitColumns } from "./Rows.ts"
import { escapeLine } from "./VisibleText.ts"

/** The line of the open prompt. Other output starts below it, and the prompt is shown again after that output. */
export class PromptArea {
  readonly #host: Host["Service"]
  #shown: string | undefined

  constructor(host: Host["Service"]) {
    this.#host = host
  }

  show(text: string): void {
    this.#shown = text.slice(text.lastIndexOf("\n") + 1)
    this.#host.write(text)
  }

  close(): void {
    this.#shown = undefined
  }

  /** Runs `print`, whose output consists of whole lines. */
  around(print: () => void): void {
    if (this.#shown === undefined) return print()
    this.#host.write("\n")
    print()
    this.#host.write(this.#shown)
  }
}

export interface PromptQueue {
  readonly area: PromptArea
  /** Asks when earlier prompts are answered. `id`: of the approval or the question. */
  readonly ask: (id: string, prompt: Effect.Effect<void>) => Effect.Effect<void>
  /** Withdraws the prompt after an answer, here or elsewhere. */
  readonly withdraw: (id: string) => Effect.Effect<void>
}

export const openPromptQueue: Effect.Effect<PromptQueue, never, Host | Scope.Scope> = Effect.gen(
  function* () {
    const host = yield* Host
    const open = yield* FiberMap.make<string>()
    // Discard input from the start: buffered input would answer the first prompt.
    yield* Effect.acquireRelease(
      Effect.sync(() => host.onLine(() => {})),
      (stop) => Effect.sync(stop)
    )
    const oneAtATime = yield* Semaphore.make(1)
    return {
      area: new PromptArea(host),
      ask: (id, prompt) => prompt.pipe(oneAtATime.withPermit, FiberMap.run(open, id), Effect.asVoid),
      withdraw: (id) => FiberMap.remove(open, id)
    }
  }
)

/** A line that `read` accepts. `undefined`: ask again. A hidden line is not shown while it is typed. */
export const promptLine = <A>(
  host: Host["Service"],
  prompt: () => { readonly text: string; readonly isHidden?: boolean },
  read: (line: string) => A | undefined,
  area = new PromptArea(host)
): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    let stop = (): void => undefined
    let wasHidden: boolean | undefined
    const ask = (): void => {
      const { isHidden = false, text } = prompt()
      if (isHidden === wasHidden) return area.show(text)
      stop()
      wasHidden = isHidden
      stop = (isHidden ? host.onSecret : host.onLine)((line) => {
        const answer = read(line)
        area.close()
        if (answer === undefined) return ask()
        stop()
        resume(Effect.succeed(answer))
      })
      // After the terminal hides what is typed.
      area.show(text)
    }
    ask()
    return Effect.sync(() => {
      stop()
      area.close()
      // The prompt was withdrawn: the next output starts on a new line.
      host.write("\n")
    })
  })

interface ListChoice<A> {
  readonly title: string
  readonly value: A
}

const SHOWN = 12
/** Columns of the prompt's marks, next to the message. */
const MARGIN = 7

/** Ctrl-C ends the command. */
export const choose = <A>(message: string, choices: ReadonlyArray<ListChoice<A>>) =>
  Effect.gen(function* () {
    const host = yield* Host
    const room = host.size().columns - MARGIN - message.length
    return yield* Prompt.Select({
      message,
      maxPerPage: SHOWN,
      choices: choices.map(({ title, value }) => ({ title: fitColumns(escapeLine(title), room), value }))
    }).pipe(Effect.mapError(() => exitWith(exitCodes.cancelled)))
  })
