/**
 * Generated files that a hostile run plants in the state of its runtime: names that programs read, their variants, and new ones, as files, links,
 * hard links, pipes and folders.
 */
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import type { Seeded } from "../harness/Seeded.ts"

/** How a file is planted. `$1` is its path, `$2` another one of the run. */
const WAYS = {
  file: 'printf "planted %s" "$1" > "$1"',
  program: 'printf "#!/bin/sh\\n" > "$1" && chmod 4755 "$1"',
  append: 'printf "planted" >> "$1"',
  replace: 'printf "planted" > "$1.new" && mv -f "$1.new" "$1"',
  link: 'ln -sf /etc/hostname "$1"',
  "link to a folder": 'ln -sfn / "$1"',
  "link that leads back": 'ln -sf ../../../planted "$1"',
  "hard link": 'printf "planted" > "$2" && ln -f "$2" "$1"',
  pipe: 'mkfifo "$1"',
  folder: 'mkdir -p "$1/inside" && printf "planted" > "$1/inside/file"',
  "removed folder": 'rm -rf "$(dirname "$1")" && mkdir -p "$(dirname "$1")" && printf "planted" > "$1"'
} as const

const ODD = [
  "SETTINGS.JSON",
  "settings.json ",
  "settings.json.bak",
  "-rf",
  "a\\b",
  "é",
  ".env",
  ".envrc",
  "index.js",
  "node_modules/x/index.js"
]
const UUID = "0000000a-0000-4000-8000-00000000000a"

/** Names in the state that programs obey or execute, with the parts of patterns filled in with those of another workspace. */
const readNames = ({ state }: RuntimeFolders): ReadonlyArray<readonly [folder: number, name: string]> =>
  state.flatMap(({ conversations = [], copied = [], credentials = [], kind, settings = [] }, index) =>
    kind === "file"
      ? []
      : [
          ...settings,
          ...copied.map(({ path }) => path),
          ...credentials.map(({ path }) => path),
          ...conversations.flatMap(({ files }) => files)
        ].map(
          (pattern) =>
            [
              index,
              pattern
                .replaceAll("{session}", UUID)
                .replaceAll("{session:8}", UUID.slice(0, 8))
                .replaceAll(/\{[^}]*\}/g, "-other-workspace")
                .replaceAll("*", "x")
            ] as const
        )
  )

export interface Planted {
  /** Index of the folder of the state. */
  readonly folder: number
  readonly name: string
  readonly way: keyof typeof WAYS
}

export const plantedState = (
  seeded: Seeded,
  folders: RuntimeFolders,
  count: number
): ReadonlyArray<Planted> => {
  const [first, ...others] = readNames(folders)
  if (first === undefined) return []
  const ways = Object.keys(WAYS) as [keyof typeof WAYS, ...Array<keyof typeof WAYS>]
  return Array.from({ length: count }, () => {
    const [folder, obeyed] = seeded.pick([first, ...others])
    const name = seeded.pick([
      obeyed,
      obeyed,
      `${obeyed}/extra-${seeded.whole(0, 99)}`,
      obeyed.toUpperCase(),
      `new-${seeded.whole(0, 9)}/${seeded.pick(["a", ...ODD])}`,
      seeded.pick(["planted", ...ODD])
    ])
    return { folder, name, way: seeded.pick(ways) }
  })
}

/** A script that plants all, each as far as that is possible. `folderOf` is the path of a folder of the state. */
export const plantingScript = (
  planted: ReadonlyArray<Planted>,
  folderOf: (index: number) => string
): string =>
  [
    ...Object.entries(WAYS).map(
      ([way, script], index) => `# ${way}\nplant${index}() { [ -p "$1" ] && return; ${script}; }`
    ),
    ...planted.map(({ folder, name, way }, index) => {
      const quoted = (path: string) => `'${path.replaceAll("'", String.raw`'\''`)}'`
      const path = `${folderOf(folder)}/${name}`
      const plant = `plant${Object.keys(WAYS).indexOf(way)}`
      return `mkdir -p "$(dirname -- ${quoted(path)})"; ${plant} ${quoted(path)} ${quoted(`${folderOf(folder)}/source-${index}`)}`
    }),
    "exit 0"
  ].join("\n")
