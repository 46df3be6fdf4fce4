// SIGINT and SIGTERM ask long work to come to an end; a second one ends the program at once.
#pragma once

namespace tilewright::cli {

/// Watches the signals from here on, also in processes that are split off later.
void watchInterrupts();

/// True once one of them came, to this process or to one that it split off or was split off from.
bool isInterrupted();

/// The exit code of what was interrupted, as shells have it: 128 + SIGINT.
constexpr int Interrupted = 130;

} // namespace tilewright::cli
