/**
 * Files of the built console, read once into memory. Compressed forms are created at first use.
 *
 * Guarantees: a path is looked up in memory, never on disk, so a request cannot reach another file.
 */
import type { Encoding } from "@corral/service/http/ContentEncoding"
import { lookup } from "mrmime"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** False for content that is already compressed or too short to gain. */
const isCompressible = (mediaType: string, size: number): boolean =>
  size > 512 && /^text\/|javascript|json|svg|xml|wasm/.test(mediaType)

export class ConsoleFile {
  readonly mediaType: string
  readonly etag: string
  private readonly content: Buffer<ArrayBuffer>
  private readonly encoded = new Map<Encoding, Buffer<ArrayBuffer>>()

  constructor(name: string, content: Buffer<ArrayBuffer>) {
    const mediaType = lookup(name) ?? "application/octet-stream"
    this.mediaType = /^text\/|javascript/.test(mediaType) ? `${mediaType}; charset=utf-8` : mediaType
    this.etag = createHash("sha256").update(content).digest("base64url").slice(0, 22)
    this.content = content
  }

  get isCompressible(): boolean {
    return isCompressible(this.mediaType, this.content.length)
  }

  /** Content in an encoding. */
  bytes(encoding: Encoding | undefined): Buffer<ArrayBuffer> {
    if (encoding === undefined) return this.content
    const cached = this.encoded.get(encoding)
    if (cached !== undefined) return cached
    const compressed = encoding === "br" ? brotliCompressSync(this.content, QUALITY) : gzipSync(this.content)
    this.encoded.set(encoding, compressed)
    return compressed
  }
}

/** Files by URL path: `/index.html`, `/assets/main-4f2c.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** Every file of a folder; none if the folder does not exist. */
export const readConsole = (folder: string | undefined): ConsoleFiles => {
  const files = new Map<string, ConsoleFile>()
  if (folder === undefined) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const address = `/${path.relative(folder, file).split(path.sep).join("/")}`
    files.set(address, new ConsoleFile(entry.name, readFileSync(file)))
  }
  return files
}

/** Next to the bundle of a Hub or of the command, in the package, and in the build output for a Hub that runs from source. */
const places = ["console", "../hub/console", "../../console", "../../../../dist/hub/console"]

/** Folder of the console, if it was built. */
export const consoleFolder = (): string | undefined =>
  places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((folder) => existsSync(path.join(folder, "index.html")))
