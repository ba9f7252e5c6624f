/** A grammar of paths: names of a tree and new ones, in the spellings that file systems and programs take for the same. */
import type { Seeded } from "../../harness/Seeded.ts"
import { FILES, FOLDERS, type GeneratedTree, PROTECTED_FILES, PROTECTED_FOLDERS } from "./GeneratedTree.ts"

const respelled = (random: Seeded, name: string): string => {
  switch (random.whole(1, 24)) {
    case 1:
      return name.toUpperCase()
    case 2:
      return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
    case 3:
      return `${name}${random.pick([".", " ", "...", "::$DATA", "\u200b"])}`
    case 4:
      return name.normalize("NFD")
    case 5:
      return name.replace(/[a-z]/, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0))
    default:
      return name
  }
}

const separator = (random: Seeded): string =>
  random.pick(["/", "/", "/", "/", "//", "/./", "///", "/../", "\\"])

const climbing = (random: Seeded): string =>
  random.pick(["", "", "", "", "", "./", "../", `${random.pick(FOLDERS)}/../`, "././/", "../../", "~/"])

const anyName = (random: Seeded): string =>
  random.pick([
    ...FOLDERS,
    ...FILES,
    ...FILES,
    ...PROTECTED_FOLDERS,
    ...PROTECTED_FILES,
    "new.ts",
    "new.md",
    "fresh.xyz",
    "link",
    "same",
    "..",
    ".",
    "~"
  ])

const ordinaryName = (random: Seeded): string => random.pick([...FOLDERS, ...FOLDERS, "link", "same"])

/** A path as an action may name it. */
export const pathOf = (random: Seeded, tree: GeneratedTree): string => {
  const existing = tree.paths[random.whole(0, tree.paths.length - 1)] ?? "src"
  const kind = random.whole(1, 8)
  const names =
    kind <= 3
      ? existing.split("/")
      : kind <= 5
        ? [...existing.split("/"), random.pick(FILES)]
        : kind === 6
          ? Array.from({ length: random.whole(1, 4) }, () => anyName(random))
          : [...Array.from({ length: random.whole(0, 3) }, () => ordinaryName(random)), random.pick(FILES)]
  let path = climbing(random)
  names.forEach((name, i) => {
    if (i > 0) path += separator(random)
    path += respelled(random, name)
  })
  switch (random.whole(1, 16)) {
    case 1:
      return `${tree.root}/${path}`
    case 2:
      return `${path}/`
    case 3:
      return `${tree.outside}/${path}`
    case 4:
      return `${tree.root}/../ws/${path}`
    default:
      return path
  }
}

/** A path that is there, or a file in it, spelled plainly. */
export const existingPath = (random: Seeded, tree: GeneratedTree): string => {
  const path = tree.paths[random.whole(0, tree.paths.length - 1)] ?? "src"
  return random.whole(1, 3) > 1
    ? path
    : `${path}/${random.pick([...FILES, "key", "new.csv", "..", "outside/key"])}`
}
