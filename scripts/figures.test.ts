/** Figures in sentences of the pages are those of the sources: limits, times and sizes. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** A constant as its file writes it: a number, a product, or a duration such as `"60 seconds"`. */
const constantIn = (file: string, name: string): number => {
  const found = new RegExp(`^(?:export )?const ${name} = "?([0-9_ *]+?)(?: seconds)?"?$`, "m").exec(
    read(`packages/${file}`)
  )
  assert.isNotNull(found, `${file} has no constant ${name}`)
  return (found?.[1] ?? "")
    .split("*")
    .reduce((product, factor) => product * Number(factor.trim().replaceAll("_", "")), 1)
}

const plain = (value: number): string => value.toLocaleString("en-US")
const per = (unit: number) => (value: number) => plain(value / unit)
const KiB = per(1_024)
const MiB = per(1_048_576)
const MB = per(1_000_000)
const seconds = per(1_000)
const minutes = per(60)
const minutesOfMs = per(60_000)
const hours = per(3_600_000)
const days = per(86_400_000)

type Figure = readonly [file: string, constant: string, format: (value: number) => string]

const stalled: Figure = ["domain/src/http/StreamEnd.ts", "STALLED_AFTER_SECONDS", plain]
const ping: Figure = ["domain/src/http/StreamEnd.ts", "PING_EVERY_SECONDS", plain]
const request: Figure = ["edge/src/approval/Policy.ts", "MAX_REQUEST", MiB]
const lowDisk: Figure = ["edge/src/runtime/Programs.ts", "LOW_DISK_BYTES", MB]
const shell = (constant: string): Figure => ["edge/src/approval/ShellCommand.ts", constant, plain]
const router = (constant: string): Figure => ["hub/src/edges/EdgeRouter.ts", constant, seconds]
const heartbeat = (constant: string): Figure => ["domain/src/device/Device.ts", constant, plain]
const proof: Figure = ["domain/src/link/EdgeLink.ts", "PROVE_WITHIN_SECONDS", plain]

/** Sentences, with `#` for each figure. */
const table: ReadonlyArray<readonly [page: string, sentence: string, ...figures: ReadonlyArray<Figure>]> = [
  [
    "docs/security.md",
    "a body is at most # MiB",
    ["service/src/http/RequestGuard.ts", "MAX_REQUEST_BYTES", MiB]
  ],
  ["docs/security.md", "payload is at most # KiB", ["domain/src/run/RunEvent.ts", "MAX_PAYLOAD_BYTES", KiB]],
  ["docs/security.md", "After # s without progress it is closed with 1013", stalled],
  ["docs/security.md", "a request larger than # MiB: denied", request],
  ["docs/security.md", "lines over # characters", shell("MAX_LENGTH")],
  ["docs/security.md", "# words and files", shell("MAX_PARTS")],
  ["docs/security.md", "# substitutions and here-documents", shell("MAX_OPENED")],
  ["docs/security.md", "paths over # names", ["edge/src/approval/PathTarget.ts", "MAX_NAMES", plain]],
  ["docs/edge.md", "less than # MB free", lowDisk],
  ["docs/operations.md", "less than # MB free", lowDisk],
  ["docs/edge.md", "has the first # MiB", ["edge/src/workspace/WorkspaceFiles.ts", "PREVIEW_BYTES", MiB]],
  [
    "docs/edge.md",
    "Responses are kept for # hours",
    ["edge/src/log/EdgeIdempotency.ts", "RETENTION_MS", hours]
  ],
  ["docs/edge.md", "A request over # MiB is denied", request],
  ["docs/edge.md", "the reader accepted no data for # s: reconnect", stalled],
  ["docs/edge.md", "sends a comment every # s", ping],
  [
    "docs/edge.md",
    "An artifact is at most # MiB",
    ["edge/src/artifact/Artifacts.ts", "MAX_ARTIFACT_BYTES", MiB]
  ],
  [
    "docs/edge.md",
    "must leave # MiB of disk free",
    ["edge/src/artifact/Artifacts.ts", "MIN_FREE_BYTES", MiB]
  ],
  [
    "docs/edge.md",
    "Its response must start within # s",
    ["edge/src/preview/PortSource.ts", "ANSWER_WITHIN", plain]
  ],
  ["docs/hub.md", "happens once in # hours", ["hub/src/HubIdempotency.ts", "RETENTION_MS", hours]],
  ["docs/hub.md", "a sign-in older than # minutes", ["hub/src/http/Callers.ts", "MAX_AGE", minutesOfMs]],
  ["docs/hub.md", "shortened to one line of # characters", ["hub/src/chat/ChatName.ts", "MAX_LENGTH", plain]],
  [
    "docs/hub.md",
    "signed in at the provider for # days",
    ["hub/src/chat/ChatBindings.ts", "VALID_FOR", days]
  ],
  [
    "docs/hub.md",
    "an artifact's bytes, at most # MiB",
    ["hub/src/edges/ArtifactContents.ts", "MAX_RELAYED_ARTIFACT_BYTES", MiB]
  ],
  [
    "docs/hub.md",
    "The Hub caches up to # MiB",
    ["hub/src/edges/ArtifactContents.ts", "MAX_CACHE_BYTES", MiB]
  ],
  ["docs/hub.md", "For # s the same key", ["hub/src/HubIdempotency.ts", "ABANDONED_MS", seconds]],
  ["docs/hub.md", "A comment arrives every # s", ping],
  ["docs/hub.md", "the reader accepts no data for # s", stalled],
  ["docs/hub.md", "is more than # changes behind", ["hub/src/live/ChangeFeed.ts", "MAX_WAITING", plain]],
  [
    "docs/hub.md",
    "A socket without a proof lives # s and can send # MiB",
    proof,
    ["hub/src/link/LinkSocket.ts", "MAX_UNPROVED_BYTES", MiB]
  ],
  ["docs/hub.md", "At most # such sockets exist", ["hub/src/link/LinkServer.ts", "MAX_UNPROVED", plain]],
  [
    "docs/hub.md",
    "A proof is valid for # minutes",
    ["domain/src/link/EdgeLink.ts", "ACCESS_SECONDS", minutes]
  ],
  [
    "docs/hub.md",
    "is a lease of # s, renewed by a heartbeat every # s",
    heartbeat("OFFLINE_AFTER_SECONDS"),
    heartbeat("HEARTBEAT_EVERY_SECONDS")
  ],
  [
    "docs/hub.md",
    "A request waits # s for its answer, a read # s",
    router("WRITE_TIMEOUT_MS"),
    router("READ_TIMEOUT_MS")
  ],
  [
    "docs/hub.md",
    "A command that no Hub sent within # s is withdrawn",
    ["hub/src/edges/CommandTable.ts", "UNSENT_MS", seconds]
  ],
  [
    "docs/operations.md",
    "stops each service within # s",
    ["service/src/runService.ts", "STOP_LIMIT_MS", seconds]
  ],
  [
    "README.md",
    "exits with 0 within # s after SIGTERM",
    ["service/src/runService.ts", "STOP_LIMIT_MS", seconds]
  ]
]

describe("figures", () => {
  const rows = table.map(([page, sentence, ...figures]) => [page, sentence, figures] as const)
  it.each(rows)("of %s are those of the sources: %s", (page, sentence, figures) => {
    const [first = "", ...parts] = sentence.split("#")
    assert.strictEqual(parts.length, figures.length, sentence)
    const values = figures.map(([file, constant, format]) => format(constantIn(file, constant)))
    const expected = first + parts.map((part, at) => `${values[at]}${part}`).join("")
    // Lines of a page are wrapped.
    assert.include(read(page).replaceAll(/\s+/g, " "), expected)
  })
})
