/**
 * A folder that is open, and names in it.
 *
 * Guarantees: no operation follows a link, on Linux also if another process replaces a folder by one meanwhile. A file appears whole or not at
 * all.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

export interface FileBytes {
  readonly bytes: Buffer
  readonly mode: number
}

export interface FileContent {
  readonly text: string
  readonly mode: number
}

export interface FolderEntry {
  readonly name: string
  readonly kind: "folder" | "file" | "link" | "other"
}

const openedPath = (fd: number, path: string): string =>
  process.platform === "linux" ? `/proc/self/fd/${fd}` : path

const isMissing = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === "ENOENT"

export class OpenedFolder {
  readonly #fd: number
  /** The folder by its descriptor. Only Linux has names for what is in it. */
  readonly #root: string

  private constructor(fd: number, path: string) {
    this.#fd = fd
    this.#root = openedPath(fd, path)
  }

  /**
   * Calls `use` with the folder at the end of `names`, which starts at `root`. Missing folders are created if `isMade`. `undefined` if one is
   * missing or is not a folder.
   */
  static with<A>(
    root: string,
    names: ReadonlyArray<string>,
    use: (folder: OpenedFolder) => A,
    isMade = false
  ): A | undefined {
    const opened: Array<number> = []
    try {
      opened.push(openSync(root, OPEN_FOLDER))
      let around = root
      for (const name of names) {
        const path = `${openedPath(opened.at(-1) ?? -1, around)}/${name}`
        if (isMade) makeFolderAt(path)
        opened.push(openSync(path, OPEN_FOLDER))
        around = `${around}/${name}`
      }
      return use(new OpenedFolder(opened.at(-1) ?? -1, around))
    } catch (cause) {
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes((cause as NodeJS.ErrnoException).code ?? ""))
        return undefined
      throw cause
    } finally {
      for (const fd of opened) closeSync(fd)
    }
  }

  /** Calls `use` with a folder in this one. Throws if there is none. */
  inside<A>(name: string, use: (folder: OpenedFolder) => A): A {
    const path = this.#path(name)
    const fd = openSync(path, OPEN_FOLDER)
    try {
      return use(new OpenedFolder(fd, path))
    } finally {
      closeSync(fd)
    }
  }

  #path(name: string): string {
    return `${this.#root}/${name}`
  }

  /** A regular file of up to `max` bytes. `missing` if there is no such name, `undefined` if it is something else. */
  readBytes(name: string, max: number): FileBytes | "missing" | undefined {
    let fd: number
    try {
      fd = openSync(this.#path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch (cause) {
      return isMissing(cause) ? "missing" : undefined
    }
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile() || stat.size > max) return undefined
      const bytes = Buffer.alloc(stat.size + 1)
      const length = readSync(fd, bytes, 0, bytes.length, 0)
      return length > stat.size ? undefined : { bytes: bytes.subarray(0, length), mode: stat.mode & 0o777 }
    } finally {
      closeSync(fd)
    }
  }

  /** The same as text; `undefined` if it is not UTF-8. */
  read(name: string, max: number): FileContent | "missing" | undefined {
    const found = this.readBytes(name, max)
    if (found === undefined || found === "missing") return found
    const text = found.bytes.toString("utf8")
    return found.bytes.equals(Buffer.from(text)) ? { text, mode: found.mode } : undefined
  }

  /** Replaces or creates the file. What had its name before, such as a link, is replaced and not followed. */
  replace(name: string, { mode, text }: FileContent, suffix: string): void {
    const temporary = this.#path(`${name}.${suffix}`)
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      try {
        writeFileSync(fd, text)
        fchmodSync(fd, mode)
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      renameSync(temporary, this.#path(name))
    } catch (cause) {
      rmSync(temporary, { force: true })
      throw cause
    }
  }

  /** Names in the folder, and what each is. */
  entries(): ReadonlyArray<FolderEntry> {
    return readdirSync(this.#root, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      kind: entry.isDirectory()
        ? "folder"
        : entry.isFile()
          ? "file"
          : entry.isSymbolicLink()
            ? "link"
            : "other"
    }))
  }

  /** Removes a file or a link, if there is one. */
  remove(name: string): void {
    rmSync(this.#path(name), { force: true })
  }

  targetOfLink(name: string): string {
    return readlinkSync(this.#path(name))
  }

  /** Sets the permissions of the folder itself. */
  setMode(mode: number): void {
    fchmodSync(this.#fd, mode)
  }

  /** Sets the permissions of a regular file. */
  setFileMode(name: string, mode: number): void {
    const fd = openSync(this.#path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      if (fstatSync(fd).isFile()) fchmodSync(fd, mode)
    } finally {
      closeSync(fd)
    }
  }
}

const makeFolderAt = (path: string): void => {
  try {
    mkdirSync(path, 0o755)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause
  }
}
