/**
 * Writer thread before it has a database. Starting a thread takes longer than opening the file, so a main program starts one before it
 * loads anything else.
 *
 * Guarantees: the thread touches no file until it receives one.
 */
import { CommitTimes } from "@corral/service/CommitTimes"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads"
import type { Job } from "./JobTransaction.ts"
import type { WriterData, WriterFile } from "./Writer.ts"

export interface WriterThread {
  /** Sends the database's file first, then jobs. */
  readonly post: (message: WriterFile | ReadonlyArray<Job>) => void
  /** Ends the thread after the messages that were sent. */
  readonly close: () => void
  readonly replies: MessagePort
  readonly commitTimes: CommitTimes
  /** Reason for the end of the thread, when it has ended. */
  readonly ended: Promise<string>
}

/** Next to this file in the sources, and `writer.cjs` next to the entry in a build. */
const writerFile = (): URL => {
  const built = new URL("./writer.cjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./Writer.ts", import.meta.url)
}

export const startWriterThread = (): WriterThread => {
  const signal = new Int32Array(new SharedArrayBuffer(8))
  const commitTimes = new CommitTimes()
  const { port1, port2 } = new MessageChannel()
  const workerData: WriterData = { signal, port: port2, commitTimes: commitTimes.memory }
  const worker = new Worker(writerFile(), { workerData, transferList: [port2] })
  const ended = new Promise<string>((resolve) => {
    let reason = "the writer thread has ended"
    worker.once("error", ({ message }) => (reason = message))
    worker.once("exit", () => resolve(reason))
  })
  const wake = () => {
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
  }
  return {
    post: (message) => {
      port1.postMessage(message)
      wake()
    },
    close: () => {
      Atomics.store(signal, 1, 1)
      wake()
    },
    replies: port1,
    commitTimes,
    ended
  }
}
