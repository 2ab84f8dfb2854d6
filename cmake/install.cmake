# SPDX-License-Identifier: MIT
#
# What `cmake --install` puts where, and the Debian package of the same (cpack). `xargs rm <build/release/install_manifest.txt`
# takes it away again.
include(GNUInstallDirs)

# The manual pages and completions come from the built program, so they say what it says.
set(EXTRAS ${CMAKE_BINARY_DIR}/extras)
add_custom_command(OUTPUT ${EXTRAS}/made
  COMMAND ${CMAKE_COMMAND} -E make_directory ${EXTRAS}/man
  COMMAND perl ${CMAKE_SOURCE_DIR}/cmake/man.pl $<TARGET_FILE:parley> ${EXTRAS}/man
  COMMAND gzip -9nkfr ${EXTRAS}/man
  COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md > ${EXTRAS}/changelog.gz
  COMMAND $<TARGET_FILE:parley> completion bash > ${EXTRAS}/parley
  COMMAND $<TARGET_FILE:parley> completion zsh > ${EXTRAS}/_parley
  COMMAND $<TARGET_FILE:parley> completion fish > ${EXTRAS}/parley.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${EXTRAS}/made
  DEPENDS parley cmake/man.pl CHANGELOG.md VERBATIM)
# Not with a build that has sanitizers: it is not what people install.
if(CMAKE_BUILD_TYPE STREQUAL Debug)
  add_custom_target(extras DEPENDS ${EXTRAS}/made)
else()
  add_custom_target(extras ALL DEPENDS ${EXTRAS}/made)
endif()

install(TARGETS parley RUNTIME)
install(DIRECTORY ${EXTRAS}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1.gz")
install(FILES ${EXTRAS}/parley DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${EXTRAS}/_parley DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${EXTRAS}/parley.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY docs/handbook DESTINATION ${CMAKE_INSTALL_DATADIR}/parley FILES_MATCHING PATTERN "*.md")
install(DIRECTORY docs/operations DESTINATION ${CMAKE_INSTALL_DATADIR}/parley/handbook FILES_MATCHING PATTERN "*.md")
install(PROGRAMS deploy/make-accounts.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/parley RENAME make-accounts)
install(DIRECTORY deploy/monitoring DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES deploy/nginx.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES packaging/etc/node.yaml packaging/etc/engine.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES ${EXTRAS}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Only of the package: units name /usr/bin, and settings in /etc belong to the package manager.
install(FILES packaging/systemd/parley.service packaging/systemd/parley-engine.service
  DESTINATION /usr/lib/systemd/system COMPONENT package EXCLUDE_FROM_ALL)
install(FILES packaging/etc/node.yaml packaging/etc/engine.yaml DESTINATION /etc/parley COMPONENT package EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME parley)
set(CPACK_PACKAGE_CONTACT "The Parley authors <parley@example.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Load-balanced front end for private inference engines")
set(CPACK_PACKAGE_DESCRIPTION "Chat frontends, documents, workflows and bots put questions into one queue in Redis.
Engines stay private: they connect to the nodes, pull questions by long poll and push answers back. Any number of
nodes behind any load balancer act as one service. This package has the program, which is node, engine and all tools,
with systemd units, manual pages and completions.")
set(CPACK_STRIP_FILES ON)
# Of files whose destination is absolute, like those in /etc; the prefix is then CPACK_INSTALL_PREFIX.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, ca-certificates, poppler-data, poppler-utils")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "redis-server (>= 5:7.0)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "tesseract-ocr")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/packaging/debian/postinst ${CMAKE_SOURCE_DIR}/packaging/debian/prerm
  ${CMAKE_SOURCE_DIR}/packaging/debian/postrm ${CMAKE_SOURCE_DIR}/packaging/debian/conffiles)
include(CPack)
