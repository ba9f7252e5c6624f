/**
 * The console as it was built: its files, read once and kept in memory. A path is looked up among them and never on the disk, so that no
 * request reaches another file.
 *
 * Knows no HTTP. Compressed forms are made when they are first asked for.
 */
import { lookup } from "mrmime"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

/** Identity where it is absent. */
export type Encoding = "br" | "gzip"

const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** Already compressed, or too short to gain. */
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

  /** Its bytes in that form. */
  bytes(encoding: Encoding | undefined): Buffer<ArrayBuffer> {
    if (encoding === undefined) return this.content
    const known = this.encoded.get(encoding)
    if (known !== undefined) return known
    const made = encoding === "br" ? brotliCompressSync(this.content, QUALITY) : gzipSync(this.content)
    this.encoded.set(encoding, made)
    return made
  }
}

/** By the path of their address: `/index.html`, `/assets/main-4f2c.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** Every file below the folder; none where there is no such folder. */
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

/** Beside the bundle of a Hub, beside that of a command that carries one, and where the build leaves it for a Hub that runs from source. */
const places = ["console", "../hub/console", "../../../../dist/hub/console"]

/** Where the console is, if it was built. */
export const consoleFolder = (): string | undefined =>
  places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((folder) => existsSync(path.join(folder, "index.html")))
