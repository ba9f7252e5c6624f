/** Command that installs packages on this machine, by the package manager that it has. Package names are the same in all of them. */
import { findProgram } from "../process/ChildEnvironment.ts"

const managers: ReadonlyArray<readonly [program: string, command: string]> = [
  ["apt-get", "apt-get install"],
  ["dnf", "dnf install"],
  ["pacman", "pacman -S"],
  ["zypper", "zypper install"],
  ["apk", "apk add"]
]

/** A sentence with the command, for the end of a hint. Without a known package manager, what to install. */
export const installSentence = (packages: ReadonlyArray<string>, path: string | undefined): string => {
  const names = packages.join(" ")
  const command = managers.find(([program]) => findProgram(program, path) !== undefined)?.[1]
  return command === undefined
    ? `Install the packages ${packages.join(" and ")}.`
    : `Run \`sudo ${command} ${names}\`.`
}
