/** Words of Gemini CLI in which it reports what has no field in its outputs. */

/** A command continues after its call, with the number of its process. */
export const movedToBackground = /^Command moved to background \(PID: (\d{1,12})\)/
