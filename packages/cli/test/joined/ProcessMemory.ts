/** Search in the memory of a process that the test has started, and in a snapshot of its heap. Linux only: it reads /proc. */
import { until } from "@corral/testing/time/Until"
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"

const PIECE = 4_194_304

/** The bytes of a text inside any base64 that contains it: without the characters at the ends that depend on what is next to it. */
const base64Of = (text: string): ReadonlyArray<Buffer> =>
  [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)]).toString("base64")
    const [first, last] = [shift === 0 ? 0 : shift + 1, encoded.length - 4]
    return Buffer.from(encoded.slice(first, last))
  })

/** A text as it can be in memory: in UTF-8, UTF-16, hexadecimal, percent-encoded, and in base64. */
const formsOf = (text: string): ReadonlyArray<Buffer> => [
  Buffer.from(text),
  Buffer.from(text, "utf16le"),
  Buffer.from(Buffer.from(text).toString("hex")),
  Buffer.from(encodeURIComponent(text)),
  ...base64Of(text)
]

type Region = readonly [from: number, to: number]

const regionsOf = (pid: number): ReadonlyArray<Region> =>
  readFileSync(`/proc/${pid}/maps`, "utf8")
    .split("\n")
    .filter((line) => /^\S+ r/.test(line) && !/\[v(var|syscall|var_vclock)\]$/.test(line))
    .map((line) => {
      const [from = "0", to = "0"] = line.split(" ", 1)[0]?.split("-") ?? []
      return [Number.parseInt(from, 16), Number.parseInt(to, 16)] as const
    })

/** Passes the memory of the process on in pieces, each with the end of the one before. */
function* memoryOf(pid: number, overlap: number): Generator<Buffer> {
  const memory = openSync(`/proc/${pid}/mem`, "r")
  try {
    for (const [from, to] of regionsOf(pid)) {
      const piece = Buffer.alloc(PIECE + overlap)
      for (let at = from, carried = 0; at < to;) {
        const length = Math.min(PIECE, to - at)
        let count: number
        try {
          count = readSync(memory, piece, carried, length, at)
        } catch {
          // Reserved, not readable.
          break
        }
        if (count === 0) break
        yield piece.subarray(0, carried + count)
        at += count
        const end = carried + count
        piece.copyWithin(0, Math.max(0, end - overlap), end)
        carried = Math.min(overlap, end)
      }
    }
  } finally {
    closeSync(memory)
  }
}

/** Which of the texts the memory of the process contains, in any form. */
export const textsInMemory = async (
  pid: number,
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  const needles = texts.map((text) => [text, formsOf(text)] as const)
  const overlap = Math.max(...needles.flatMap(([, forms]) => forms.map(({ length }) => length)))
  const found = new Set<string>()
  for (const piece of memoryOf(pid, overlap)) {
    for (const [text, forms] of needles)
      if (!found.has(text) && forms.some((bytes) => piece.includes(bytes))) found.add(text)
    // Connections of the test stay alive.
    await setImmediate()
  }
  return texts.filter((text) => found.has(text))
}

/** Which texts a snapshot of the heap contains. The process runs with `--heapsnapshot-signal=SIGUSR2` in the folder. */
export const textsInHeap = async (
  pid: number,
  folder: string,
  texts: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  process.kill(pid, "SIGUSR2")
  const snapshot = await until(
    async () => {
      const name = readdirSync(folder).find((file) => file.endsWith(".heapsnapshot"))
      const text = name === undefined ? "" : readFileSync(join(folder, name), "utf8")
      return text.trimEnd().endsWith("}") ? text : undefined
    },
    "a snapshot of the heap",
    120_000
  )
  return texts.filter((text) => formsOf(text).some((bytes) => snapshot.includes(bytes.toString("utf8"))))
}
