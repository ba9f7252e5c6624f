/**
 * Prompts of a terminal: one at a time, in the order in which they were asked. A prompt is withdrawn if it is answered elsewhere.
 *
 * Guarantees: input typed before a prompt appears never answers it.
 */
import { Effect, FiberMap, Semaphore, type Scope } from "effect"
import { Host } from "./Host.ts"

export interface PromptQueue {
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
      ask: (id, prompt) => prompt.pipe(oneAtATime.withPermit, FiberMap.run(open, id), Effect.asVoid),
      withdraw: (id) => FiberMap.remove(open, id)
    }
  }
)

/** A line that `read` accepts. `undefined`: ask again. A hidden line is not shown while it is typed. */
export const promptLine = <A>(
  host: Host["Service"],
  prompt: () => { readonly text: string; readonly isHidden?: boolean },
  read: (line: string) => A | undefined
): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    let stop = (): void => undefined
    let wasHidden: boolean | undefined
    const ask = (): void => {
      const { isHidden = false, text } = prompt()
      if (isHidden === wasHidden) return host.write(text)
      stop()
      wasHidden = isHidden
      stop = (isHidden ? host.onSecret : host.onLine)((line) => {
        const answer = read(line)
        if (answer === undefined) return ask()
        stop()
        resume(Effect.succeed(answer))
      })
      // After the terminal hides what is typed.
      host.write(text)
    }
    ask()
    return Effect.sync(() => {
      stop()
      // The prompt was withdrawn: the next output starts on a new line.
      host.write("\n")
    })
  })
