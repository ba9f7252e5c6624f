/** One chat with the keyboard, signals and the size of the terminal, which it gives back at the end. */
import { Clock, Effect, FiberSet, Queue } from "effect"
import { Host, receiveSignal } from "../terminal/Host.ts"
import { ChatLoop, type ChatLoopOptions } from "./ChatLoop.ts"
import type { ChatSignal } from "./ChatSignals.ts"

const BEGIN_PASTE_MARKS = "\u001b[?2004h"
const END_PASTE_MARKS = "\u001b[?2004l"

/** Chats until the user leaves. */
export const runChat = Effect.fn("RunChat.run")(function* (options: ChatLoopOptions) {
  const host = yield* Host
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const signals = yield* Queue.unbounded<ChatSignal>()
  const loop = new ChatLoop(options, host, clock, scope, signals, yield* FiberSet.make())
  yield* Effect.acquireRelease(
    Effect.sync(() => host.onResize(() => void Queue.offerUnsafe(signals, { kind: "draw" }))),
    (stop) => Effect.sync(stop)
  )
  yield* receiveSignal("SIGINT", () => void Queue.offerUnsafe(signals, { kind: "interrupt" }))
  yield* Effect.acquireRelease(
    Effect.sync(() => host.write(BEGIN_PASTE_MARKS)),
    () =>
      Effect.sync(() => {
        loop.close()
        host.write(END_PASTE_MARKS)
      })
  )
  yield* loop.run
  yield* host.written
}, Effect.scoped)
