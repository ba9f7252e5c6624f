/** Home directory and name of the user of this process, also of a user whom the system does not list. */
import { homedir, userInfo } from "node:os"

/** The root of the file system, if neither HOME nor the system names a home. */
export const userHome = (): string => {
  try {
    return homedir()
  } catch {
    return "/"
  }
}

/** A name made of the number of the user, if the system has none. */
export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return `user-${process.getuid?.() ?? 0}`
  }
}
